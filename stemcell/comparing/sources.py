"""Which runs are compared, and what they have: read, checked, each configuration and seed once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stemcell.comparing.probes import Probes, read_probes
from stemcell.corpora.layers import LAYERS, SPLITS
from stemcell.encoders.names import hub_name, short_name
from stemcell.errors import UserError, suggested, unknown
from stemcell.files import intact
from stemcell.heads.maps import KEPT, read_gates
from stemcell.heads.report import NO_MATTER
from stemcell.tracking import sentences
from stemcell.tracking.description import read_labels
from stemcell.tracking.folder import RunFolder, find_run, is_run
from stemcell.tracking.freshness import stale

PRETRAINED = "pretrained"
SAME = ("train_limit", "pos_column", "skip_broken")
"""Settings that say which part of a corpus is learnt from, and how it is read: the same in all runs of a comparison."""


@dataclass(frozen=True)
class Source:
    """A run, or the probes of an encoder as it is.

    Attributes:
        name: its folder's.
        encoder: as the table of encoders or the hub names it, or a folder.
        tasks: in the layers' order; none of an encoder as it is.
        prune: no, static or dynamic.
        per_task: whether each task has gates of its own.
        seed: 0 of an encoder as it is.
        counts: of each task's main score by sentence, [sentences, 2 or 3].
        masks: kept heads by set of gates, [layers, heads] booleans; none without gates.
        probes: what was found by task and mode.
    """

    name: str
    folder: RunFolder
    encoder: str
    tasks: tuple[str, ...]
    prune: str
    per_task: bool
    seed: int
    counts: dict[str, np.ndarray]
    masks: dict[str, np.ndarray]
    probes: Probes

    @property
    def model(self) -> str:
        """Such as ``POS``, ``POS-DP``, ``POS+NER``, ``MTL-5``, ``MTL-5-SP``; of an encoder as it is, ``pretrained``."""
        if not self.tasks:
            return PRETRAINED
        whole = f"MTL-{len(self.tasks)}" if len(self.tasks) == len(LAYERS) else "+".join(self.tasks).upper()
        return whole + {"no": "", "static": "-SP", "dynamic": "-DP"}[self.prune] + "-PER-TASK" * self.per_task


@dataclass(frozen=True)
class Sources:
    """The runs of a comparison.

    Attributes:
        split: that all were evaluated on.
        runs: each configuration and seed once; by encoder, model and seed.
        notes: what was left out, and why, in sentences.
    """

    split: str
    runs: list[Source]
    notes: list[str] = field(default_factory=list)

    @property
    def encoders(self) -> list[str]:
        """In the runs' order."""
        return list(dict.fromkeys(run.encoder for run in self.runs))

    @property
    def tasks(self) -> list[str]:
        """That any run has, in the layers' order."""
        return [task for task in LAYERS if any(task in run.tasks for run in self.runs)]

    def of(self, encoder: str, model: str) -> dict[int, Source]:
        """The runs of a model by seed, ascending."""
        return {run.seed: run for run in self.runs if run.encoder == encoder and run.model == model}


def read_sources(folders: Sequence[tuple[RunFolder, bool]], split: str, notes: Sequence[str] = ()) -> Sources:
    """Read runs.

    Args:
        folders: runs, and whether each was asked for by itself; of others, the unfinished are left out and said.
        split: whose scores are compared.

    Raises:
        UserError: if there are none; if one is unfinished, not evaluated, trained further since, or of another kind; if
            they are of different corpora or label sets, or two of one model and encoder have other settings.
    """
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    said, found = list(notes), []
    unfinished = []
    for folder, asked in _once(folders, said):
        status = folder.status().word
        if status == "FINISHED":
            found.append(_source(folder, split))
        elif asked:
            unfinished.append(f"{folder.path} ({status})")
        else:
            said.append(f"{folder.path.name} is left out: it is {status}.")
    if unfinished:
        raise UserError(
            f"not finished: {', '.join(unfinished)}; go on with stemcell train --resume RUN, or leave them out"
        )
    if not any(source.tasks for source in found):
        raise UserError("no finished runs to compare; name run folders, a study's folder or MLflow ids, or --filter")
    missing = [run for run in found if run.tasks and set(run.tasks) - run.counts.keys()]
    if missing:
        commands = "\n  ".join(suggested("evaluate", run.folder.path, "--split", split) for run in missing)
        raise UserError(f"not evaluated on {split}, sentence by sentence, with all of their tasks:\n  {commands}")
    _check_fresh(found, split)
    _check_corpora(found, split)
    kept, repeated = _distinct(found)
    said += [f"{name} is left out: a run of the same configuration and seed is there." for name in repeated]
    return Sources(split, sorted(kept, key=_place), said)


def expand(names: Sequence[str]) -> tuple[list[tuple[RunFolder, bool]], list[str]]:
    """Runs by folder, name or MLflow id, and those of studies; with notes on what a study lacks.

    Raises:
        UserError: as :func:`stemcell.tracking.folder.find_run`.
    """
    folders, notes = [], []
    for name in names:
        folder = find_run(name)
        if folder.tags.get("kind") != "study":
            folders.append((folder, True))
            continue
        with intact(folder.path / "tables" / "runs.json"):
            columns, rows = folder.read_table("runs")
            places = {columns.index(column): column for column in ("name", "folder", "state")}
            parts = [{column: row[place] for place, column in places.items()} for row in rows]
        for part in parts:
            path = folder.path / part["folder"]
            if is_run(path):
                folders.append((RunFolder(path), False))
            else:
                notes.append(f"{part['name']} of the study {folder.path.name} is left out: it is {part['state']}.")
    return folders, notes


def search(condition: str, experiment: str) -> list[tuple[RunFolder, bool]]:
    """The runs of an MLflow experiment that meet MLflow's filter, and lie here.

    Raises:
        UserError: if MLflow does not answer or understand, or there are none.
    """
    from stemcell.tracking import store

    with store.answers():
        client = store.connect()
        known = client.get_experiment_by_name(experiment)
        if known is None:
            raise UserError(f"MLflow at {store.shown(store.tracking_uri())} has no experiment '{experiment}'")
        token, found = None, []
        while True:
            page = client.search_runs([known.experiment_id], condition, max_results=1000, page_token=token)
            found += list(page)
            token = page.token
            if not token:
                break
    folders = [store.folder_of(run.info.run_id) for run in found if "stemcell.folder" in run.data.tags]
    runs = [folder for folder in folders if folder.tags.get("kind") in (None, "probe")]
    if not runs:
        raise UserError(f"no run of the experiment '{experiment}' meets the filter {condition!r}")
    return [(run, False) for run in runs]


def _once(folders: Sequence[tuple[RunFolder, bool]], said: list[str]) -> Iterator[tuple[RunFolder, bool]]:
    """Each run once, by its id: a copy of a run is that run. What is there twice is said."""
    ids: dict[str, tuple[RunFolder, bool]] = {}
    for folder, asked in folders:
        before = ids.get(folder.id)
        if before:
            said.append(f"{folder.path.name} is there twice ({before[0].path} and {folder.path}); it counts once.")
        ids[folder.id] = (before[0], before[1] or asked) if before else (folder, asked)
    yield from ids.values()


def _source(folder: RunFolder, split: str) -> Source:
    kind = folder.tags.get("kind")
    if kind == "probe":
        encoder = str(folder.tags.get("encoder"))
        probes = read_probes(folder, split)
        return Source(folder.path.name, folder, hub_name(encoder), (), "no", False, 0, {}, {}, probes)
    if kind is not None:
        raise UserError(f"{folder.path}: a {kind}, not a trained run; name its runs")
    with intact(folder.path / "run.json"):
        config = folder.config
        tasks = tuple(task for task in LAYERS if task in config["tasks"])
        prune = config["prune"]
        masks = {}
        if prune != "no":
            masks = {name: gates > KEPT for name, gates in read_gates(folder).final().items()}
        encoder = hub_name(config["encoder"])
        counts = {task: array for task, array in sentences.read(folder, split).items() if task in tasks}
        per_task = prune != "no" and config["gates"] == "per-task"
        return Source(
            folder.path.name, folder, encoder, tasks, prune, per_task, int(config["seed"]), counts, masks,
            read_probes(folder, split),
        )  # fmt: skip


def _check_fresh(found: Sequence[Source], split: str) -> None:
    """Refuse results of weights that a run no longer has, since it was trained further."""
    commands = [
        suggested(command, run.folder.path, "--split", split)
        for run in found
        for command, name in (("evaluate", "sentences"), ("probe", "probe"))
        if stale(run.folder, f"{name}-{split}")
    ]
    if commands:
        lines = "\n  ".join(commands)
        raise UserError(f"trained further after their results on {split} were made; make them again:\n  {lines}")


def _check_corpora(found: Sequence[Source], split: str) -> None:
    """Refuse runs that were not trained and scored on the same sentences and labels."""
    first: dict[str, tuple[Any, Source]] = {}

    def same(what: str, value: Any, run: Source, remedy: str) -> None:
        before, other = first.setdefault(what, (value, run))
        if before != value:
            raise UserError(f"{other.folder.path} and {run.folder.path} have {what}; {remedy}")

    apart = "their scores cannot be compared; compare each lot by itself"
    for run in found:
        same("different corpora (by fingerprint)", run.folder.tags.get("corpus"), run, apart)
        if not run.tasks:
            continue
        for name in SAME:
            same(f"different {name.replace('_', '-')}", run.folder.config.get(name), run, apart)
        labels = read_labels(run.folder)
        for task in run.tasks:
            counts = run.counts[task]
            # What a sentence has of gold, or of words, is the corpus' alone.
            same(f"different sentences of {task} in {split}", counts[:, -1].tolist(), run, apart)
            same(f"different labels of {task}", labels.get(task), run, apart)


def _distinct(found: Sequence[Source]) -> tuple[list[Source], list[str]]:
    """Each model and seed once, and the names of those left out."""
    kept: dict[tuple[str, str, int], Source] = {}
    settings: dict[tuple[str, str], tuple[dict[str, Any], Source]] = {}
    repeated = []
    for run in sorted(found, key=lambda run: run.folder.record["created"]):
        own = {name: value for name, value in run.folder.config.items() if name not in NO_MATTER | {"data", "tasks"}}
        own = json.loads(json.dumps(own)) if run.tasks else {}
        before, other = settings.setdefault((run.encoder, run.model), (own, run))
        if differing := sorted(name for name in own.keys() | before.keys() if own.get(name) != before.get(name)):
            raise UserError(
                f"{other.folder.path} and {run.folder.path} are both {run.model} of {short(run.encoder)}, but with "
                f"another {', '.join(name.replace('_', '-') for name in differing)}; compare one of the two"
            )
        if (run.encoder, run.model, run.seed) in kept:
            repeated.append(run.name)
        else:
            kept[run.encoder, run.model, run.seed] = run
    return list(kept.values()), repeated


def short(encoder: str) -> str:
    """The name of an encoder that is shown."""
    return Path(short_name(encoder)).name


def _place(run: Source) -> tuple:
    numbers = [LAYERS.index(task) for task in run.tasks]
    return run.encoder, len(numbers), run.prune != "no", run.prune, run.per_task, numbers, run.seed
