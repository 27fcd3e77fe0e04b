"""What a sweep searches, read from YAML and checked whole: fields, ranges, objectives, sampler, pruner, budget."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stemcell import home
from stemcell.config import FIELDS, flag, from_dict
from stemcell.errors import UserError, unknown
from stemcell.sheet import read

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

KEYS = ("name", "space", "base", "objectives", "heads_budget", "sampler", "pruner", "trials")
OBJECTIVES = ("dev/average", "heads")
SAMPLERS = ("tpe", "random", "nsga2")
PRUNERS = ("median", "none")
# What is compared must be measured on the same data and tasks; the rest is where a trial lies.
FIXED = ("data", "out", "tasks", "experiment", "pos_column", "skip_broken")


@dataclass(frozen=True)
class Range:
    """Numbers from low to high, both included; drawn evenly in their logarithm with ``log``."""

    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class Choice:
    """One of some values."""

    choices: tuple[Any, ...]


@dataclass(frozen=True)
class Sampler:
    """How configurations are drawn: at random for the first ``startup_trials``, and then by what those gave."""

    name: str = "tpe"
    seed: int = 1
    startup_trials: int = 8


@dataclass(frozen=True)
class Pruner:
    """A trial stops where its dev average is below the median of earlier trials' at that epoch."""

    name: str = "median"
    startup_trials: int = 4
    warmup_epochs: int = 3


@dataclass(frozen=True)
class Sweep:
    """A sweep: ``objectives`` are ``dev/average`` alone or with ``heads``, the share kept, which goes down.

    ``heads_budget`` is the share of heads that may be kept at most; a trial above it is no candidate for the best.
    """

    name: str
    space: dict[str, Range | Choice]
    base: dict[str, Any]
    objectives: tuple[str, ...] = ("dev/average",)
    heads_budget: float | None = None
    sampler: Sampler = Sampler()
    pruner: Pruner = Pruner()
    trials: int = 20


def shipped() -> dict[str, Path]:
    """The sweeps that come with stemcell, by name."""
    return home.shipped()


def find_sweep(name: str) -> Path:
    """The file of a shipped sweep, or the file itself.

    Raises:
        UserError: if there is none.
    """
    return home.find_shipped("sweep", name, shipped())


def read_sweep(path: Path, flags: dict[str, Any]) -> Sweep:
    """Read and check a sweep; ``flags`` are fields that go over its ``base``.

    Raises:
        UserError: on anything that is wrong; names file and line.
    """
    sheet = read(path)
    values, lines = sheet.values, sheet.lines
    sheet.mapping(values, (), KEYS)

    def place(*keys: str) -> str:
        return sheet.place(keys)

    name = values.get("name", path.stem)
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name):
        raise UserError(f"{place('name')}: name is {name!r}: use letters, digits, '-', '_' and '.'")
    base = {**_mapping(values, "base", place), **flags}
    for field in _mapping(values, "base", place):
        _valid({field: base[field]} if field != "prune" else {**base}, place("base", field))
    space = {
        field: _part(field, part, base, place("space", str(field)))
        for field, part in _mapping(values, "space", place).items()
    }
    for field in space:
        if field in flags:
            raise UserError(
                f"{flag(field)} is given, but this sweep searches it ({place('space', field)}); leave one out"
            )
    if not space:
        raise UserError(f"{place('space')}: nothing to search; name fields under 'space:'")
    gated = from_dict(base, str(path)).prune != "no" or "prune" in space
    objectives = _objectives(values.get("objectives", ["dev/average"]), gated, place("objectives"))
    budget = values.get("heads_budget")
    if budget is not None:
        budget = _number(budget, "heads_budget", place("heads_budget"))
        if not 0 < budget <= 1:
            raise UserError(f"{place('heads_budget')}: heads_budget is {budget:g}: a share of the heads, from 0 to 1")
        if len(objectives) > 1 or not gated:
            why = "heads are an objective already" if len(objectives) > 1 else "nothing is pruned; set prune in base"
            raise UserError(f"{place('heads_budget')}: heads_budget has no effect: {why}")
    sampler = Sampler(**_settings(values.get("sampler", {}), Sampler(), "sampler", SAMPLERS, path, lines))
    pruned = values.get("pruner", {} if len(objectives) == 1 else "none")
    pruner = Pruner(**_settings(pruned, Pruner(), "pruner", PRUNERS, path, lines))
    if len(objectives) > 1 and pruner.name != "none":
        raise UserError(f"{place('pruner')}: with two objectives no trial can be pruned; leave pruner out")
    trials = values.get("trials", Sweep.trials)
    if not isinstance(trials, int) or isinstance(trials, bool) or trials < 1:
        raise UserError(f"{place('trials')}: trials is {trials!r}: at least 1")
    return Sweep(name, space, base, objectives, budget, sampler, pruner, trials)


def describe(space: dict[str, Range | Choice]) -> dict[str, Any]:
    """The space as plain values."""
    return {name: asdict(part) if isinstance(part, Range) else list(part.choices) for name, part in space.items()}


def distributions(space: dict[str, Range | Choice]) -> dict[str, BaseDistribution]:
    """The space as Optuna's distributions."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    found: dict[str, BaseDistribution] = {}
    for name, part in space.items():
        if isinstance(part, Choice):
            found[name] = CategoricalDistribution(part.choices)
        elif isinstance(FIELDS[name].default, int):
            found[name] = IntDistribution(int(part.low), int(part.high), log=part.log)
        else:
            found[name] = FloatDistribution(part.low, part.high, log=part.log)
    return found


def _mapping(values: dict[Any, Any], key: str, place: Any) -> dict[str, Any]:
    part = values.get(key) or {}
    if not isinstance(part, dict):
        raise UserError(f"{place(key)}: {key} must have lines of the form 'field: …'")
    return part


def _part(field: Any, part: Any, base: dict[str, Any], place: str) -> Range | Choice:
    if field not in FIELDS:
        raise UserError(f"{place}: {unknown('field', str(field), FIELDS)}")
    if field in FIXED:
        raise UserError(
            f"{place}: {field} cannot be searched: all trials have the same one; give it as a flag or in base"
        )
    if isinstance(part, list):
        if len(part) < 2 or any(isinstance(value, (list, dict)) for value in part):
            raise UserError(f"{place}: {field} needs at least two plain values to choose from")
        values = [getattr(_valid({**base, field: value}, place), field) for value in part]
        if len(set(values)) < len(values):
            raise UserError(f"{place}: {field} has a choice twice")
        return Choice(tuple(values))
    if not isinstance(part, dict) or not {"low", "high"} <= set(part):
        raise UserError(f"{place}: {field} needs a range, {{low: …, high: …, log: true}}, or a list of choices")
    for key in part:
        if key not in ("low", "high", "log"):
            raise UserError(f"{place}: {field}: {unknown('key', str(key), ('low', 'high', 'log'))}")
    default = FIELDS[field].default
    if isinstance(default, bool) or not isinstance(default, (int, float)):
        raise UserError(f"{place}: {field} has no range: give a list of choices")
    low, high = (_number(part[key], f"{field}: {key}", place) for key in ("low", "high"))
    log = part.get("log", False)
    if not isinstance(log, bool):
        raise UserError(f"{place}: {field}: log is {log!r}: true or false")
    if isinstance(default, int) and not (low.is_integer() and high.is_integer()):
        raise UserError(f"{place}: {field} is a whole number, so are its low and high")
    if low >= high:
        what = "an empty" if low == high else "a reversed"
        raise UserError(f"{place}: {field} has {what} range, from {low:g} to {high:g}; low must be below high")
    if log and low <= 0:
        raise UserError(f"{place}: {field}: a range with log starts above 0, not at {low:g}")
    for end in (low, high):
        _valid({**base, field: int(end) if isinstance(default, int) else end}, place)
    return Range(low, high, log)


def _valid(values: dict[str, Any], place: str) -> Any:
    try:
        return from_dict(values, place)
    except UserError as error:
        text = str(error)
        raise UserError(text if text.startswith(place) else f"{place}: {text}") from None


def _number(value: Any, what: str, place: str) -> float:
    # YAML 1.1 reads 1e-4 as a string, since it lacks a point.
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"{place}: {what} is {value!r}: it must be a finite number")
    return number


def _objectives(given: Any, gated: bool, place: str) -> tuple[str, ...]:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UserError(f"{place}: objectives are names: {', '.join(OBJECTIVES)}")
    for name in names:
        if name not in OBJECTIVES:
            raise UserError(f"{place}: {unknown('objective', name, OBJECTIVES)}")
    if names not in (["dev/average"], ["dev/average", "heads"]):
        raise UserError(f"{place}: objectives are [dev/average] or [dev/average, heads]")
    if "heads" in names and not gated:
        raise UserError(f"{place}: heads are an objective, but nothing is pruned; set prune in base")
    return tuple(names)


def _settings(
    given: Any, default: Sampler | Pruner, what: str, names: tuple[str, ...], path: Path, lines: dict[Any, int]
) -> dict[str, Any]:
    place = f"{path}:{lines.get((what,), 1)}"
    known = asdict(default)
    settings = {"name": given} if isinstance(given, str) else given
    if not isinstance(settings, dict):
        raise UserError(f"{place}: {what} is a name ({', '.join(names)}) or lines of the form 'key: value'")
    for key, value in settings.items():
        line = lines.get((what, str(key)), lines.get((what,), 1))
        if key not in known:
            raise UserError(f"{path}:{line}: {unknown(f'key of {what}', str(key), known)}")
        if key == "name" and value not in names:
            raise UserError(f"{path}:{line}: {unknown(what, str(value), names)}")
        if key != "name" and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise UserError(f"{path}:{line}: {what}: {key} is {value!r}: a whole number from 0")
    return settings
