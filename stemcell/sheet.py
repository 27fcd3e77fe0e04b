"""YAML files with the line of every key, so that what is wrong is said with its place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stemcell.errors import UserError, unknown

Keys = tuple[str, ...]
"""The way to a value: the keys of the mappings around it, and positions in lists, as text."""


@dataclass(frozen=True)
class Sheet:
    """The values of a YAML file, and the line of each."""

    path: Path
    values: dict[Any, Any]
    lines: dict[Keys, int]

    def place(self, keys: Keys) -> str:
        """File and line of a value, or of the nearest one around it."""
        while keys and keys not in self.lines:
            keys = keys[:-1]
        return f"{self.path}:{self.lines.get(keys, 1)}"

    def error(self, keys: Keys, what: object) -> UserError:
        """An error at a value."""
        return UserError(f"{self.place(keys)}: {what}")

    def mapping(self, value: Any, keys: Keys, known: Iterable[str] | None = None) -> dict[str, Any]:
        """A value that must be a mapping (nothing is an empty one), with none but the ``known`` keys if any are given.

        Raises:
            UserError: if it is none, or has another key: with the nearest that is known.
        """
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.error(keys, f"{_name(keys)} must have lines of the form 'key: value'")
        for key in value:
            if known is not None and key not in known:
                raise self.error(
                    (*keys, str(key)), unknown(f"key of {_name(keys)}" if keys else "key", str(key), known)
                )
        return {str(key): part for key, part in value.items()}

    def names(self, value: Any, keys: Keys) -> list[str]:
        """A value that must be a list of names, or one name.

        Raises:
            UserError: if it is none, or empty, or has a name twice.
        """
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not found or not all(isinstance(one, str) and one for one in found):
            raise self.error(keys, f"{_name(keys)} is {value!r}: it must be a list of names")
        for number, name in enumerate(found):
            if name in found[:number]:
                raise self.error((*keys, str(number)), f"{name} is there twice; keep one")
        return found


def read(path: Path) -> Sheet:
    """Read a YAML file that is a mapping.

    Raises:
        UserError: if it cannot be read, is no YAML, no mapping, or has a key twice.
    """
    import yaml

    try:
        text = path.read_text("utf-8")
        values = yaml.safe_load(text)
        node = yaml.compose(text, yaml.SafeLoader)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        what = " ".join(str(getattr(error, "problem", error)).split())
        raise UserError(f"{path}:{mark.line + 1 if mark else 1}: not valid YAML: {what}") from None
    if not isinstance(values, dict):
        raise UserError(f"{path}:1: expected lines of the form 'key: value'")
    lines: dict[Keys, int] = {}
    waiting: list[tuple[Keys, Any]] = [((), node)]
    while waiting:
        above, part = waiting.pop()
        if isinstance(part, yaml.MappingNode):
            for key, value in part.value:
                where, line = (*above, str(key.value)), key.start_mark.line + 1
                if where in lines:
                    raise UserError(f"{path}:{line}: {key.value} is there twice, in line {lines[where]} too; keep one")
                lines[where] = line
                waiting.append((where, value))
        elif isinstance(part, yaml.SequenceNode):
            for number, value in enumerate(part.value):
                lines[(*above, str(number))] = value.start_mark.line + 1
                waiting.append(((*above, str(number)), value))
    return Sheet(path, values, lines)


def _name(keys: Keys) -> str:
    named = [key for key in keys if not key.isdigit()]
    return named[-1] if named else "the file"
