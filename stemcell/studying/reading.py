"""Reading a study (its form: :mod:`stemcell.studying.grid`): every key and value is checked; errors name the line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stemcell.config import EXPERIMENT_LENGTH, FIELDS, RunConfig, from_dict, run_name
from stemcell.corpora.layers import LAYERS
from stemcell.encoders.names import TINY, locate
from stemcell.errors import UserError, unknown
from stemcell.sheet import Keys, Sheet, read
from stemcell.studying.grid import AFTER, MODES, MTL5, TASKS, Run, Study

SIZED = ("models", "encoders", "seeds", "data", "demo", "train", "modes", "after", "pretrained")
KEYS = ("name", "experiment", *SIZED, "sizes")
# What a study says in its own words, or decides.
OWN = {
    "data": "the key data", "out": "--out", "encoder": "the key encoders", "tasks": "the key models",
    "seed": "the key seeds", "prune": "the modes of models", "gates": "the modes of models",
    "from_run": "the modes of models", "experiment": "the key experiment",
}  # fmt: skip

Settings = dict[str, tuple[Any, Keys]]
"""Fields of a run's configuration, and where each was set."""


def read_study(
    path: Path, size: str = "", *, data: str = "", encoders: Sequence[str] = (), seeds: Sequence[int] = ()
) -> Study:
    """Read and check a study.

    Args:
        size: one of the file's sizes; by default ``smoke`` where it has it, or else its first.
        data, encoders, seeds: instead of the file's.

    Raises:
        UserError: on anything that is wrong; names file and line.
    """
    sheet = read(path)
    sheet.mapping(sheet.values, (), KEYS)
    name = sheet.values.get("name", path.stem)
    if not isinstance(name, str) or not re.fullmatch(r"[\w-][\w.-]*", name, re.ASCII):
        raise sheet.error(("name",), f"name is {name!r}: use letters, digits, '-', '_' and '.'")
    size = _size(sheet, size)
    form = _Form(sheet, size)
    demo = None if data else form.demo()
    after = form.after()
    named = form.encoders(encoders)
    chosen = form.seeds(seeds)
    models = form.models()
    train, modes = form.train(), form.modes({mode for _, mode, _ in models})
    runs = _runs(sheet, models, named, chosen, train, modes, form.experiment())
    return Study(
        name=f"{name}-{size}" if size else name,
        size=size,
        data=data or ("" if demo else form.data()),
        demo=demo,
        runs=tuple(runs),
        after=after,
        pretrained=tuple(named) if form.pretrained(after) else (),
        encoders=tuple(named),
        seeds=tuple(chosen),
        settings={
            "models": [_model(tasks, mode) for tasks, mode, _ in models],
            "experiment": form.experiment(),
            **{field: _settled(field, value) for field, (value, _) in train.items()},
            **{
                f"{mode}.{name}": _settled(name, value)
                for mode, own in modes.items()
                for name, (value, _) in own.items()
            },
        },
    )


def _size(sheet: Sheet, size: str) -> str:
    """The size that is meant, all sizes having been checked for unknown keys."""
    sizes = sheet.mapping(sheet.values.get("sizes"), ("sizes",))
    for name, part in sizes.items():
        sheet.mapping(part, ("sizes", name), SIZED)
    if size and not sizes:
        raise UserError(f"{sheet.path}: it has no sizes; leave --size {size} out")
    if size and size not in sizes:
        raise UserError(f"{sheet.path}: {unknown('size', size, sizes)}")
    return size or ("smoke" if "smoke" in sizes else next(iter(sizes), ""))


class _Form:
    """The values that hold for one size, checked as they are asked for."""

    def __init__(self, sheet: Sheet, size: str) -> None:
        self._sheet = sheet
        self._sources: list[Keys] = [("sizes", size), ()] if size else [()]

    def _own(self, source: Keys) -> dict[str, Any]:
        values = self._sheet.values
        for key in source:
            values = values[key] or {}
        return values

    def _find(self, key: str) -> tuple[Any, Keys]:
        """A value and its place; None if it is not there."""
        for source in self._sources:
            if self._own(source).get(key) is not None:
                return self._own(source)[key], (*source, key)
        return None, ()

    def _names(self, key: str) -> tuple[list[str], Keys]:
        value, keys = self._find(key)
        return ([], keys) if value is None else (self._sheet.names(value, keys), keys)

    def encoders(self, given: Sequence[str]) -> list[str]:
        names, keys = self._names("encoders")
        if not given and not names:
            raise UserError(f"{self._sheet.path}: no encoders; name some under 'encoders:', or give --encoder")
        folders: dict[str, str] = {}
        for number, name in enumerate(given or names):
            place = "--encoder" if given else self._sheet.place((*keys, str(number)))
            try:
                if name not in TINY:
                    locate(name)
            except UserError as error:
                raise UserError(f"{place}: {error}") from None
            if (other := folders.setdefault(Path(name).name, name)) != name or name in list(given or names)[:number]:
                raise UserError(f"{place}: runs of {other} and {name} would have the same names")
        return list(given or names)

    def seeds(self, given: Sequence[int]) -> list[int]:
        value, keys = self._find("seeds")
        seeds = list(given) or ([1] if value is None else value if isinstance(value, list) else [value])
        place = "--seeds" if given else self._sheet.place(keys)
        if not seeds or not all(isinstance(s, int) and not isinstance(s, bool) and 0 <= s < 2**32 for s in seeds):
            raise UserError(f"{place}: seeds is {seeds}: whole numbers from 0 to 4294967295, such as [1, 2, 3]")
        if len(set(seeds)) < len(seeds):
            raise UserError(f"{place}: a seed is there twice; keep one")
        return seeds

    def data(self) -> str:
        value, keys = self._find("data")
        if value is not None and (not isinstance(value, str) or not value):
            raise self._sheet.error(keys, f"data is {value!r}: it must be the folder of a corpus")
        return value or ""

    def demo(self) -> tuple[int, int, int] | None:
        for source in self._sources:
            own, keys = self._own(source), (*source, "demo")
            if own.get("demo") is not None and own.get("data") is not None:
                raise self._sheet.error(keys, "both demo and data are given; keep one")
            if own.get("data") is not None:
                return None
            if (value := own.get("demo")) is not None:
                whole = isinstance(value, list) and all(isinstance(n, int) and not isinstance(n, bool) for n in value)
                if not whole or len(value) != 3 or min(value) < 1:
                    text = "the numbers of sentences, from 1, of train, dev and test, such as [200, 50, 50]"
                    raise self._sheet.error(keys, f"demo is {value!r}: it must be {text}")
                return (value[0], value[1], value[2])
        return None

    def after(self) -> tuple[str, ...]:
        names, keys = self._names("after")
        for number, name in enumerate(names):
            if name not in AFTER:
                raise self._sheet.error((*keys, str(number)), unknown("step", name, AFTER))
        return tuple(step for step in AFTER if step in names)

    def pretrained(self, after: Sequence[str]) -> bool:
        value, keys = self._find("pretrained")
        if value not in (None, True, False):
            raise self._sheet.error(keys, f"pretrained is {value!r}: true or false")
        if value and "probe" not in after:
            raise self._sheet.error(keys, "pretrained encoders are probed, but 'after' has no probe; add it there")
        return bool(value)

    def experiment(self) -> str:
        value = self._sheet.values.get("experiment", "stemcell")
        if not isinstance(value, str) or not 0 < len(value) <= EXPERIMENT_LENGTH:
            raise self._sheet.error(("experiment",), f"experiment: a name of 1 to {EXPERIMENT_LENGTH} characters")
        return value

    def models(self) -> list[tuple[tuple[str, ...], str, Keys]]:
        """Tasks, mode and place of each model, in order."""
        value, keys = self._find("models")
        if not isinstance(value, list) or not value:
            where = self._sheet.place(keys) if keys else self._sheet.path
            raise UserError(f"{where}: models must be a list of lines of the form '- tasks: [stl, mtl5]'")
        found: dict[tuple[tuple[str, ...], str], Keys] = {}
        for number, entry in enumerate(value):
            here = (*keys, str(number))
            parts = self._sheet.mapping(entry, here, ("tasks", "modes"))
            if "tasks" not in parts:
                raise self._sheet.error(here, "a model needs tasks, such as [stl, mtl5]")
            modes = self._sheet.names(parts.get("modes", "plain"), (*here, "modes"))
            for i, mode in enumerate(modes):
                if mode not in MODES:
                    raise self._sheet.error((*here, "modes", str(i)), unknown("mode", mode, MODES))
                for j, name in enumerate(self._sheet.names(parts["tasks"], (*here, "tasks"))):
                    place = (*here, "tasks", str(j))
                    for tasks in self._tasks(name, place):
                        found.setdefault((tasks, mode), place)
        for (tasks, mode), place in found.items():
            order = list(found)
            if mode == "sp" and (tasks, "plain") not in order[: order.index((tasks, mode))]:
                name = _model(tasks, "plain")
                raise self._sheet.error(place, f"sp starts from {name} in mode plain, which must stand before it")
        return [(tasks, mode, place) for (tasks, mode), place in found.items()]

    def _tasks(self, name: str, place: Keys) -> list[tuple[str, ...]]:
        if name in TASKS:
            return TASKS[name]
        parts = name.split("-")
        if len(set(parts)) < len(parts):
            raise self._sheet.error(place, f"{name} has a task twice")
        for part in parts:
            if part not in LAYERS:
                raise self._sheet.error(place, f"{unknown('tasks', name, (*TASKS, *LAYERS))}, or some: pos-dep")
        return [tuple(task for task in LAYERS if task in parts)]

    def train(self) -> Settings:
        """The fields of all runs."""
        return self._fields("train")

    def modes(self, used: set[str]) -> dict[str, Settings]:
        """The fields of each mode."""
        for source in self._sources:
            keys = (*source, "modes")
            for mode in self._sheet.mapping(self._own(source).get("modes"), keys, MODES):
                if mode not in used:
                    raise self._sheet.error(
                        (*keys, mode), f"no model has the mode {mode}, for which there are settings"
                    )
        return {mode: self._fields("modes", mode) for mode in MODES if mode in used}

    def _fields(self, *way: str) -> Settings:
        fields: Settings = {}
        for source in reversed(self._sources):
            part: Any = self._own(source)
            for i, key in enumerate(way):
                part = self._sheet.mapping(part.get(key), (*source, *way[: i + 1]))
            for name, value in part.items():
                keys = (*source, *way, name)
                if name not in FIELDS:
                    raise self._sheet.error(keys, unknown("field", name, FIELDS))
                if name in OWN:
                    raise self._sheet.error(keys, f"{name} is not set here: a study has {OWN[name]} for it")
                if isinstance(value, dict):
                    self._by_tasks(value, keys)
                fields[name] = (value, keys)
        return fields

    def _by_tasks(self, value: dict[Any, Any], keys: Keys) -> None:
        for key in value:
            if not isinstance(key, str) or key in ("stl", "pairs"):
                raise self._sheet.error((*keys, str(key)), f"{key}: name tasks, such as pos, pos-dep or {MTL5}")
            self._tasks(key, (*keys, key))


def _runs(
    sheet: Sheet,
    models: list[tuple[tuple[str, ...], str, Keys]],
    encoders: list[str],
    seeds: list[int],
    train: Settings,
    modes: dict[str, Settings],
    experiment: str,
) -> list[Run]:
    """All runs: seed by seed, within a seed by model, and of one model by encoder."""
    runs = []
    for seed in seeds:
        for tasks, mode, place in models:
            for encoder in encoders:
                values = {"encoder": encoder, "tasks": tasks, "seed": seed, "experiment": experiment, **MODES[mode]}
                start = run_name(RunConfig(encoder=encoder, tasks=tasks, seed=seed)) if mode == "sp" else ""
                config = _config(sheet, {**values, "from_run": start}, {**train, **modes[mode]}, place)
                runs.append(Run(run_name(config), config, start))
    return runs


def _config(sheet: Sheet, values: dict[str, Any], settings: Settings, place: Keys) -> RunConfig:
    for field, (value, keys) in settings.items():
        if isinstance(value, dict):
            wanted = _model(values["tasks"], "plain")
            by_tasks = {_sorted(str(key)): one for key, one in value.items()}
            if wanted not in by_tasks:
                raise sheet.error(keys, f"{field} has no value for {wanted}, which is among the models")
            value = by_tasks[wanted]
        try:
            from_dict({field: value} if field != "preset" else {**values, field: value}, "")
        except UserError as error:
            raise sheet.error(keys, str(error).removeprefix(": ")) from None
        values = {**values, field: value}
    try:
        return from_dict(values)
    except UserError as error:
        raise sheet.error(place, error) from None


def _settled(field: str, value: Any) -> Any:
    """A value as the configuration has it, so that 1e-3 and 0.001 are the same."""
    if isinstance(value, dict):
        return {_sorted(str(key)): _settled(field, one) for key, one in value.items()}
    return value if field == "preset" else getattr(from_dict({field: value}), field)


def _model(tasks: Sequence[str], mode: str) -> str:
    """The name of a model: its tasks and, unless plain, its mode."""
    name = MTL5 if len(tasks) == len(LAYERS) else "-".join(tasks)
    return name if mode == "plain" else f"{name}-{mode}"


def _sorted(name: str) -> str:
    """The name of tasks, with the tasks in order."""
    return name if name == MTL5 else "-".join(task for task in LAYERS if task in name.split("-"))
