"""What the page is told: scores, gates and attention, packed tightly enough for one file."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pandas as pd

from stemcell.atlas.examples import Examples
from stemcell.heads.maps import matrix
from stemcell.probing.run import Probed

MEASURES = ("score", "low", "high", "control", "selectivity")
"""Columns of the cells that the page shows."""
STEPS = 10_000
"""Steps from 0 to 1 in which scores are kept."""
NONE = 65_535
"""Stands for a score that there is not."""
FACTS = (
    "label", "count", "controlled", "baseline", "baseline_score", "baseline_selectivity", "adjacent_score",
    "adjacent_selectivity", "untrained_score", "untrained_deviation", "untrained_selectivity",
)  # fmt: skip
"""Columns of the labels that the page shows."""


def page_data(title: str, probed: Probed, examples: Examples) -> dict[str, Any]:
    """All that the page shows, as JSON has it.

    Args:
        title: of the page.
        probed: what was found.
        examples: some of the sentences with their attention.
    """
    encoder, gates, cells = probed.target.encoder, probed.target.gates, probed.cells
    kept, width = encoder.kept_heads, encoder.hidden // encoder.head_size
    first, last = encoder.tokenizer.convert_ids_to_tokens([encoder.specials.first, encoder.specials.last])
    values = {} if gates is None else gates.values()
    return {
        "title": title,
        "layers": len(kept),
        "heads": width,
        "kept": kept,
        "gates": {name: packed(matrix(own.tolist(), kept, width)) for name, own in values.items()},
        "sets": {task: "" if gates is None else gates.set_of(task) for task in cells["task"].unique()},
        "probes": [_probe(probed, rows, width) for _, rows in cells.groupby(["task", "mode"], sort=False)],
        "root": first,
        "end": last,
        "sentences": [{"words": words, "items": items} for words, items in examples.gold.items()],
        "attention": {
            name: [_base64((own * 255).round().clip(0, 255).astype(np.uint8)) for own in sentences]
            for name, sentences in examples.attention.items()
        },
    }


def packed(values: np.ndarray) -> str:
    """Numbers from -1 to 1 or NaN as 16 bits each, in base64: (value + 1) * :data:`STEPS`, NaN as :data:`NONE`."""
    steps = np.where(np.isnan(values), NONE, (np.nan_to_num(values) + 1) * STEPS)
    return _base64(steps.round().clip(0, NONE).astype("<u2"))


def _base64(values: np.ndarray) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")


def _probe(probed: Probed, rows: pd.DataFrame, width: int) -> dict[str, Any]:
    """One task in one mode: facts by label, and of each measure that it has the values, label by label."""
    task, mode = rows.iloc[0]["task"], rows.iloc[0]["mode"]
    rows = rows.sort_values(["label", "layer", "head"], kind="stable")
    names = rows["label"].unique().tolist()
    about, ranks = (
        table[(table["task"] == task) & (table["mode"] == mode)] for table in (probed.labels, probed.ranks)
    )  # fmt: skip
    facts = {row["label"]: {name: _plain(row[name]) for name in FACTS} for _, row in about.iterrows()}
    for row in ranks.sort_values("rank", kind="stable").itertuples():
        best = facts[row.label].setdefault("best", {}).setdefault(row.by, [])
        best.append([(row.layer - 1) * width + row.head - 1, _plain(row.is_best)])
    measures = {}
    for measure in MEASURES:
        values = rows[measure].to_numpy(float).reshape(len(names), -1)
        if not np.isnan(values).all():
            measures[measure] = packed(values)
    return {"task": task, "mode": mode, "labels": [facts[name] for name in names], "measures": measures}


def _plain(value: Any) -> Any:
    """A value of a table as JSON has it, null where there is none."""
    if isinstance(value, str):
        return value
    if pd.isna(value):
        return None
    return int(value) if float(value).is_integer() else round(float(value), 4)
