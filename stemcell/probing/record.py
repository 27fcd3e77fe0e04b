"""What probes have found, as files and in the record of a run."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stemcell.corpora.layers import LAYERS
from stemcell.corpora.store import Corpus, read_corpus
from stemcell.encoders.names import NAMES
from stemcell.errors import UserError
from stemcell.files import disk_errors, write_atomic
from stemcell.probing.run import Probed, probe_all
from stemcell.tracking.folder import RunFolder, find_run
from stemcell.tracking.freshness import mark
from stemcell.tracking.sync import send
from stemcell.training.processes import from_main, rank

KIND = "probe"
"""Tag ``kind`` of a record that is of probes alone."""


def probe_target(
    target: str, data: Path | None = None, out: Path | None = None, *, split: str = "test",
    tasks: Sequence[str] | None = None, figures: bool = False,
    shown: Sequence[tuple[str, str]] = (), overwrite: bool = False, study: RunFolder | None = None, **settings: Any,
) -> Probed:  # fmt: skip
    """Probe an encoder, a run or an export, and keep what is found; on all processes together.

    A run that is probed on its own corpus keeps it in its folder (:func:`keep`), and its centroids are those of the
    sentences that it was trained on; whatever else is probed has a record of its own, which is ``out``. MLflow has a
    copy of either.

    Args:
        target: name of an encoder, or a run or an export.
        data: corpus folder; a run's own by default.
        out: folder for the files of :func:`write_files`; only a run on its own corpus may do without.
        figures: draw them into ``out/figures``.
        shown: tasks and labels whose own heat maps are drawn there too.
        study: that a record of its own is a part of.
        settings: others of :func:`stemcell.probing.run.probe_all`.

    Raises:
        UserError: as :func:`stemcell.probing.run.probe_all`, or if ``out`` is missing or holds something.
    """
    run = _run(target)
    corpus = _corpus(run, target, data)
    own = run is not None and corpus.fingerprint == run.tags.get("corpus")
    if own and run is not None:
        settings["train_limit"] = run.config["train_limit"]
    if rank() == 0:
        _check(out, own, overwrite)
    from_main(None)
    found = probe_all(target, corpus, tasks, split=split, **settings)
    if rank() == 0:
        from stemcell.atlas.page import atlas_page

        height = settings.get("con_height", 3)
        atlas = atlas_page(f"{Path(target).name}, {split}", found, corpus[split], height)
        if own and run is not None:
            keep(run, found, atlas, split)
            send(run)
        elif out is not None:
            _record(out, target, corpus, found, atlas, split, overwrite, study)
        if out is not None:
            write_files(out, found, atlas)
            _draw(out / "figures", found, figures, shown)
    from_main(None)
    return found


def probe_run(folder: Path, split: str = "test") -> None:
    """Probe a run for the labels of its own tasks on its own corpus at its precision; its folder keeps what is found.

    Raises:
        UserError: as :func:`probe_target`.
    """
    config = RunFolder(folder).config
    probe_target(str(folder), split=split, tasks=config["tasks"], precision=config["precision"])


def probe_encoder(
    encoder: str, data: Path, out: Path, split: str = "test", train_limit: int = 0, study: RunFolder | None = None
) -> None:
    """Probe an encoder as it is, with untrained ones beside it; ``out`` becomes the record, a part of ``study``.

    Raises:
        UserError: as :func:`probe_target`.
    """
    probe_target(encoder, data, out, split=split, baseline="untrained", train_limit=train_limit, study=study)


def files(found: Probed) -> dict[str, bytes]:
    """What is kept, by file name.

    ::

        probe.parquet       every label and head (Probed.cells)
        probe-labels.csv    of every label the best head and the baselines (Probed.labels)
        probe-ranks.csv     of every label the best three heads (Probed.ranks)
        samples.npz         TASK/MODE/labels and /count [labels]; /score and /selectivity [1 + samples, labels] of the
                            best head, in the data and in each bootstrap sample
    """
    parquet, arrays = io.BytesIO(), io.BytesIO()
    found.cells.to_parquet(parquet, index=False)
    content: dict[str, np.ndarray] = {}
    for own in found.scores:
        score, selectivity = own.best()
        name = f"{own.task}/{own.mode}"
        content |= {f"{name}/labels": np.array(own.labels, str), f"{name}/count": own.count.astype(int)}
        content |= {f"{name}/score": score.astype("float32"), f"{name}/selectivity": selectivity.astype("float32")}
    np.savez_compressed(arrays, allow_pickle=False, **content)  # type: ignore[arg-type]
    return {
        "probe.parquet": parquet.getvalue(),
        "probe-labels.csv": found.labels.to_csv(index=False).encode(),
        "probe-ranks.csv": found.ranks.to_csv(index=False).encode(),
        "samples.npz": arrays.getvalue(),
    }


def write_files(folder: Path, found: Probed, atlas: str) -> None:
    """Write ``probe.csv``, ``atlas.html`` and all but the samples of :func:`files`, each whole or not at all.

    Raises:
        UserError: if the folder cannot be written.
    """
    with disk_errors(folder):
        write_atomic(folder / "atlas.html", atlas)
        write_atomic(folder / "probe.csv", found.cells.to_csv(index=False))
        for name, content in files(found).items():
            if name != "samples.npz":
                write_atomic(folder / name, content)


def keep(folder: RunFolder, found: Probed, atlas: str, split: str) -> None:
    """Keep what was found of a split in a run's folder: files as artifacts, tables, and means over labels as results.

    ::

        artifacts/probe/SPLIT/*             :func:`files`, and atlas.html
        tables/probe/SPLIT.json             every label and head
        tables/probe-labels/SPLIT.json      of every label the best head
        results.jsonl                       final/SPLIT/probe/TASK/MODE/score and /selectivity
    """
    for name, content in files(found).items():
        folder.artifact(f"probe/{split}/{name}", content)
    folder.artifact(f"probe/{split}/atlas.html", atlas)
    for name, table in (("probe", found.cells), ("probe-labels", found.labels)):
        folder.table(f"{name}/{split}", list(table.columns), _rows(table))
    folder.result(split, _means(found.labels))
    mark(folder, f"probe-{split}")


def _draw(folder: Path, found: Probed, figures: bool, shown: Sequence[tuple[str, str]]) -> None:
    from stemcell.figures.probes import write_figures, write_label

    if figures:
        write_figures(folder, found.cells, found.labels)
    for task, label in shown:
        write_label(folder, found.cells, task, label)


def _run(target: str) -> RunFolder | None:
    """The run that is meant, if it is one."""
    if target in NAMES:
        return None
    try:
        return find_run(target)
    except UserError:
        return None


def _corpus(run: RunFolder | None, target: str, data: Path | None) -> Corpus:
    """All layers of a corpus: unlike training, probing needs no other split than the one that is probed."""
    config = run.config if run is not None else {}
    folder = data or config.get("data")
    if not folder:
        raise UserError(f"{target}: not a run with a corpus of its own; name a corpus folder with --data")
    column, skip = config.get("pos_column", "xpos"), config.get("skip_broken", False)
    corpus = read_corpus(folder, layers=(), pos_column=column, skip_broken=skip)
    return dataclasses.replace(corpus, layers=LAYERS)


def _check(out: Path | None, own: bool, overwrite: bool) -> None:
    if out is None:
        if not own:
            raise UserError("name a folder with --out: only a run that is probed on its own corpus keeps what is found")
        return
    if out.exists() and not out.is_dir():
        raise UserError(f"{out}: is a file; name a folder with --out")
    if not overwrite and out.is_dir() and any(out.iterdir()):
        raise UserError(f"{out}: not empty; name another folder with --out, or replace its tables with --overwrite")


def _record(
    out: Path, target: str, corpus: Corpus, found: Probed, atlas: str, split: str, overwrite: bool,
    study: RunFolder | None,
) -> None:  # fmt: skip
    """Make ``out`` a run folder that is of probes alone."""
    config = {
        "target": target if target in NAMES or not Path(target).exists() else str(Path(target).absolute()),
        "data": str(corpus.folder.absolute()),
        "split": split,
        "tasks": list(dict.fromkeys(own.task for own in found.scores)),
        **({"experiment": study.config["experiment"]} if study else {}),
    }
    tags = {"kind": KIND, "encoder": target, "mode": "pretrained", "corpus": corpus.fingerprint}
    folder = RunFolder.create(out, config, tags, overwrite=overwrite, parent=study.id if study else None)
    keep(folder, found, atlas, split)
    folder.set_status("FINISHED")
    folder.release()
    send(folder)


def _means(labels: pd.DataFrame) -> dict[str, float]:
    means = {}
    for (task, mode), own in labels.groupby(["task", "mode"], sort=False):
        for name in ("score", "selectivity"):
            if own[f"best_{name}"].notna().any():
                means[f"probe/{task}/{mode}/{name}"] = float(own[f"best_{name}"].mean())
    return means


def _rows(table: pd.DataFrame) -> list[list[Any]]:
    """A table's rows as JSON has them: nothing where there is no value."""
    return [list(row) for row in table.astype(object).where(table.notna(), None).itertuples(index=False, name=None)]
