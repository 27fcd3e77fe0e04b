"""The tasks, one folder each: labels, decoder, loss, decode, score, probe. A sixth task is a folder and a name here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from stemcell.errors import unknown

if TYPE_CHECKING:
    from stemcell.tasks.protocol import Task

NAMES = (
    "pos",
    "ner",
    "dep",
    "con",
    "srl",
)


def task(name: str) -> Task:
    """The task of that name; its folder is imported here, so that the names alone cost nothing.

    Raises:
        UserError: there is no such task.
    """
    if name not in NAMES:
        raise unknown("task", name, NAMES)
    return import_module(f"stemcell.tasks.{name}").TASK
