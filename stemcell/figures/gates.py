"""Everything about the gates of runs that goes into files: the figures of the paper, films, and tables."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from stemcell.errors import UserError
from stemcell.figures import frames, maps
from stemcell.files import write_atomic
from stemcell.heads.overlap import Overlap
from stemcell.heads.report import Comparison, PrunedRun, head_maps

OVERLAP = ["of", "first", "second", "heads", "first_kept", "second_kept", "both", "expected", "p_at_least",
           "p_at_most", "jaccard"]  # fmt: skip
CONSISTENCY = ["of", "seeds", "jaccard", "kept_by_all", "kept_by_all_expected", "kept_by_none", "kept_by_none_expected"]


def check_out(folder: Path, overwrite: bool) -> None:
    """Check that figures may be written into a folder.

    Raises:
        UserError: if it holds something and ``overwrite`` was not asked for, or is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: is a file; name a folder with --out")
    if not overwrite and folder.is_dir() and any(folder.iterdir()):
        raise UserError(f"{folder}: not empty; name another folder with --out, or replace its figures with --overwrite")


def write(folder: Path, runs: Sequence[PrunedRun], comparison: Comparison, threshold: float) -> list[Path]:
    """Write every figure that applies, and the tables; files of the same names are replaced, others stay.

    ::

        map-RUN.*         each run's gates; film-RUN.png how they came about
        rgb-TASKS.*       the first three seeds of the same tasks, one colour channel a run
        average.*         mean gate over the maps of single-task runs, or over all if there are not two such
        layers.*          kept heads a layer by task
        overlap.*         task x task, where there are several
        gates.csv         each gate of each run (layers and heads from 1); overlap.csv, consistency.csv, shares.csv

    Args:
        folder: made if need be.
        runs: at least one.
        comparison: of the same runs.
        threshold: a head counts as kept where its gate exceeds it.

    Raises:
        UserError: if the disk is full or the folder may not be written.
    """
    written = []
    taken: set[str] = set()
    for run in runs:
        name = _free(run.name, taken)
        of_run = head_maps(run, threshold)
        gates = {each.set: each.gates for each in of_run}
        title = f"{run.name}, step {run.step:,}"
        written += maps.save(
            maps.gate_map(gates, {each.set: each.mask for each in of_run}, title), folder, f"map-{name}"
        )
        path = folder / f"film-{name}.png"
        write_atomic(path, frames.film_of(run.history, threshold))
        written.append(path)
    taken = set()
    for label, group in comparison.groups.items():
        if len(group) >= 3:
            three = {f"seed {each.seed}": each.mask for each in group[:3]}
            figure = maps.three_runs(three, f"{label}: heads kept in three runs")
            written += maps.save(figure, folder, f"rgb-{_free(label, taken)}")
    single = [each for each in comparison.maps() if len(each.tasks) == 1]
    kind, averaged = ("single-task maps", single) if len(single) > 1 else ("maps", comparison.maps())
    if len(averaged) > 1:
        figure = maps.average([each.gates for each in averaged], f"mean gate of {len(averaged)} {kind}")
        written += maps.save(figure, folder, "average")
    by_label = {label: [each.mask for each in group] for label, group in comparison.groups.items()}
    written += maps.save(maps.layers(by_label, "kept heads by layer"), folder, "layers")
    if pairs := comparison.between_groups():
        several = len(comparison.maps()) > len(comparison.groups)
        title = "overlap of the heads that most runs of each keep" if several else "overlap of kept heads"
        written += maps.save(maps.overlaps(list(comparison.groups), pairs, title), folder, "overlap")
    return written + _tables(folder, runs, comparison, threshold)


def _tables(folder: Path, runs: Sequence[PrunedRun], comparison: Comparison, threshold: float) -> list[Path]:
    gates = [
        [each.run, each.set, layer + 1, head + 1, float(gate), int(each.mask[layer, head])]
        for run in runs
        for each in head_maps(run, threshold)
        for (layer, head), gate in np.ndenumerate(each.gates)
    ]
    written = [_csv(folder / "gates.csv", ["run", "set", "layer", "head", "gate", "kept"], gates)]
    pairs = [_overlap_row("tasks", *names, pair) for names, pair in comparison.between_groups().items()]
    pairs += [_overlap_row("runs", *names, pair) for names, pair in comparison.between_runs().items()]
    if pairs:
        written.append(_csv(folder / "overlap.csv", OVERLAP, pairs))
    if seeds := comparison.seeds():
        rows = [
            [label, " ".join(str(each.seed) for each in comparison.groups[label]), found.jaccard, found.by_all,
             found.all_expected, found.by_none, found.none_expected]
            for label, found in seeds.items()
        ]  # fmt: skip
        written.append(_csv(folder / "consistency.csv", CONSISTENCY, rows))
        shares = [
            [label, layer + 1, head + 1, float(share)]
            for label, found in seeds.items()
            for (layer, head), share in np.ndenumerate(found.share)
        ]
        written.append(_csv(folder / "shares.csv", ["of", "layer", "head", "share_of_seeds"], shares))
    return written


def _overlap_row(of: str, first: str, second: str, pair: Overlap) -> list:
    numbers = [pair.heads, pair.first, pair.second, pair.both, pair.expected, pair.at_least, pair.at_most, pair.jaccard]
    return [of, first, second, *numbers]


def _csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_atomic(path, buffer.getvalue())
    return path


def _free(name: str, taken: set[str]) -> str:
    """A file's name for a label, and different from those taken before."""
    plain = re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "run"
    free, number = plain, 1
    while free in taken:
        number += 1
        free = f"{plain}-{number}"
    taken.add(free)
    return free
