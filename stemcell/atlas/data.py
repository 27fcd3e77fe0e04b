"""What the page is told: scores, gates and attention, packed tightly enough for one file."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from stemcell.atlas.examples import Examples, Words
from stemcell.corpora.layers import Example
from stemcell.heads.maps import matrix
from stemcell.model import MultiTaskModel
from stemcell.tasks import task as find_task
from stemcell.tasks.probes import Link

MEASURES = ("score", "low", "high", "control", "selectivity")
"""Columns of the cells that the page shows."""
STEPS = 10_000
"""Steps from 0 to 1 in which scores are kept."""
NONE = 65_535
"""Stands for a score that there is not."""
KEYS = ("task", "mode", "label")


def page_data(
    title: str, cells: pd.DataFrame, labels: pd.DataFrame, model: MultiTaskModel,
    layers: Mapping[str, Sequence[Example]], examples: Examples,
) -> dict[str, Any]:  # fmt: skip
    """All that the page shows, as JSON has it.

    Args:
        title: of the page.
        cells: of :class:`stemcell.probing.run.Probed`; further columns are ignored.
        labels: likewise; further columns are shown under their names.
        model: that was probed.
        layers: the sentences that were probed, by task.
        examples: some of them with their attention.
    """
    encoder, gates = model.encoder, model.gates
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
        "probes": [_probe(rows, labels, len(kept) * width) for _, rows in cells.groupby(["task", "mode"], sort=False)],
        "root": first,
        "end": last,
        "sentences": [
            {"words": words, "items": items} for words, items in _items(examples.sentences, layers).items()
        ],
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


def _probe(rows: pd.DataFrame, labels: pd.DataFrame, heads: int) -> dict[str, Any]:
    """One task in one mode: facts by label, and of each measure that it has the values, label by label."""
    task, mode = rows.iloc[0]["task"], rows.iloc[0]["mode"]
    rows = rows.sort_values(["label", "layer", "head"], kind="stable")
    names = rows["label"].unique().tolist()
    about = labels[(labels["task"] == task) & (labels["mode"] == mode)].set_index("label")
    facts = [
        {"label": name, **{str(key): _plain(value) for key, value in about.loc[name].items() if key not in KEYS}}
        for name in names
    ]
    measures = {}
    for measure in MEASURES:
        values = rows[measure].to_numpy(float).reshape(len(names), heads)
        if not np.isnan(values).all():
            measures[measure] = packed(values)
    return {"task": task, "mode": mode, "labels": facts, "measures": measures}


def _plain(value: Any) -> Any:
    """A value of a table as JSON has it, null where there is none."""
    if isinstance(value, str):
        return value
    if pd.isna(value):
        return None
    return int(value) if float(value).is_integer() else round(float(value), 4)


def _items(
    sentences: Sequence[Words], layers: Mapping[str, Sequence[Example]]
) -> dict[Words, dict[str, list[list[Any]]]]:
    """By sentence and task the gold items: source (0 is the root, null for a span), first and last word, label."""
    found: dict[Words, dict[str, list[list[Any]]]] = {words: {} for words in sentences}
    for task, layer in layers.items():
        probe = find_task(task).probe
        for example in layer:
            own = found.get(example.words)
            if own is None or task in own:
                continue
            own[task] = [
                [item.source, item.start, item.end, item.label] if isinstance(item, Link)
                else [None, item.start + 1, item.end + 1, item.label]
                for item in probe.items(example.gold)
            ]  # fmt: skip
    return found
