from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stemcell.comparing.sources import Source, read_sources
from stemcell.comparing.stem import known_labels, stem_heads, stem_table
from stemcell.corpora.layers import LAYERS
from tests.comparing import world

HEADS = (2, 3)


def cells(task: str, mode: str, label: str, scores: list[float], control: float, count: int = 400) -> pd.DataFrame:
    """Six heads with intervals of ± 0.05."""
    layer, head = (index.ravel() + 1 for index in np.indices(HEADS))
    score = np.array(scores)
    columns = {"layer": layer, "head": head, "mode": mode, "count": count, "score": score, "low": score - 0.05}
    rest = {"high": score + 0.05, "control": control, "selectivity": score - control}
    return pd.DataFrame({"task": task, "label": label, **columns, **rest})


def probed(path: Path, tables: list[pd.DataFrame], baselines: dict[str, tuple[float, float]]) -> Source:
    folder = world.pretrained(path, {"pos/train-split": {"A": 0.5}})
    world.keep_heads(folder, pd.concat(tables, ignore_index=True), baselines)
    run = world.run(path.parent / "any", ("pos",))
    return next(s for s in read_sources([(folder, True), (run, True)], "test").runs if not s.tasks)


def test_heads_know_what_they_score_above_their_control_or_baseline(tmp_path: Path) -> None:
    low, high = [0.3] * 6, [0.3, 0.9, 0.3, 0.3, 0.34, 0.9]
    source = probed(
        tmp_path / "pre",
        [
            cells("dep", "link", "root", high, 0.3),
            cells("dep", "link", "NA", low, 0.3),
            # A head that knows no more than what looks at anything at all.
            cells("srl", "link", "ARG0", [0.95] * 6, 0.95),
            cells("ner", "train-split", "ORG", [0.6, *[0.3] * 5], np.nan),
            cells("ner", "train-split", "DATE", [0.6, *[0.3] * 5], np.nan),
            cells("ner", "same-split", "ORG", [1.0] * 6, np.nan),
            cells("con", "train-split", "NP", [0.9] * 6, np.nan),
            cells("con", "train-split", "VP", [0.9] * 6, np.nan, count=5),
        ],
        {"ORG": (0.0, 0.2), "DATE": (0.0, 0.58), "NP": (1.0, np.nan)},
    )
    found = {task: count.ravel().tolist() for task, count in known_labels(source, "test").items()}
    # ORG is above guessing (one in two), DATE is not above the untrained encoder; NP is the most frequent label.
    assert found == {
        "dep": [0, 1, 0, 0, 0, 1], "srl": [0] * 6, "ner": [1, 0, 0, 0, 0, 0], "con": [0] * 6,
    }  # fmt: skip


def test_stem_heads_know_labels_of_two_tasks(tmp_path: Path) -> None:
    knows = [0.3, 0.9, 0.9, 0.3, 0.3, 0.9]
    other = [0.3, 0.9, 0.3, 0.3, 0.9, 0.9]
    source = probed(
        tmp_path / "pre", [cells("dep", "link", "root", knows, 0.3), cells("srl", "link", "ARG0", other, 0.3)], {}
    )
    mask = np.array([[True, True, True], [True, True, False]])
    runs = [world.run(tmp_path / f"{task}-{seed}", (task,), seed, mask=mask) for task in LAYERS for seed in (1, 2)]
    sources = read_sources([(run, True) for run in [*runs, source.folder]], "test")
    found = stem_heads(sources, "minilm")
    assert found is not None
    assert found.heads == [(0, 1)]
    assert stem_heads(sources, "minilm", knows=1).heads == [(0, 1), (0, 2), (1, 1)]  # type: ignore[union-attr]
    table = stem_table(found, "minilm")
    (row,) = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert row["head"] == "1-2"
    assert row["sure, %"] == pytest.approx(100 * found.sure[0, 1])
    assert (row["POS keeps, % of seeds"], row["DEP labels known"], row["SRL labels known"]) == (100, 1, 1)
