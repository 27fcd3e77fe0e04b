"""Flags made from the fields of the configuration, so that the two never differ."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from stemcell.config import FIELDS, RunConfig, flag, from_dict, read_yaml


def with_config_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give ``command(flags, ...)`` one option a field of :class:`RunConfig`.

    The command receives as ``flags`` a dictionary of those that were given, and its own other parameters as usual.
    """

    own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != "flags"]
    kind = inspect.Parameter.KEYWORD_ONLY

    def wrapper(**values: Any) -> Any:
        flags = {name: values.pop(name) for name in FIELDS}
        return command({name: value for name, value in flags.items() if value is not None}, **values)

    options = []
    for name, field in FIELDS.items():
        annotation: Any = Annotated[Optional[_type(field.default)], _option(field)]  # type: ignore[valid-type]  # noqa: UP045
        options.append(inspect.Parameter(name, kind, default=None, annotation=annotation))
    parameters = [p.replace(kind=kind) for p in own] + options
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
    wrapper.__doc__ = command.__doc__
    return wrapper


def resolve(flags: dict[str, Any], config: Path | None) -> RunConfig:
    """The configuration of a file, if one is given, with the flags over it; over that of ``--from``, if given."""
    values = {**(read_yaml(config) if config else {}), **flags}
    if values.get("from_run"):
        from stemcell.saved import inherited

        values = inherited(values)
    return from_dict(values)


def _type(default: Any) -> Any:
    return str if isinstance(default, tuple) else type(default)


def _option(field: Any) -> Any:
    default = ",".join(field.default) if isinstance(field.default, tuple) else field.default
    if isinstance(default, bool):
        shown = "yes" if default else "no"
    else:
        shown = str(default)
    names = flag(field.name) + (f"/--no-{flag(field.name)[2:]}" if isinstance(default, bool) else "")
    return typer.Option(names, help=field.metadata["help"] + (f" [{shown}]" if shown else ""), show_default=False)
