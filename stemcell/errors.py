"""The one error a user sees: a message that names the place and the remedy; exit code 2 on the command line."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable


class UserError(Exception):
    """Something the user can mend. Shown as it is, without a traceback, with exit code 2."""


def suggested(*arguments: object) -> str:
    """A command of stemcell to copy from a message into a shell, quoted where the shell needs it.

    >>> suggested("evaluate", "runs/run 41 x", "--split", "dev")
    "stemcell evaluate 'runs/run 41 x' --split dev"
    """
    return shlex.join(["stemcell", *map(str, arguments)])


def unknown(kind: str, name: str, known: Iterable[str], also: Iterable[str] = ()) -> UserError:
    """An error for a name that does not exist, with the nearest one that does, be it one of ``also``, too many to list.

    >>> str(unknown("task", "pso", ["pos", "ner"]))
    "unknown task 'pso': did you mean 'pos'? Known: pos, ner"
    """
    names = list(known)
    near = difflib.get_close_matches(name.strip().lower(), [*names, *also], n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'? " if near else ""
    return UserError(f"unknown {kind} '{name}': {hint}Known: {', '.join(names)}")
