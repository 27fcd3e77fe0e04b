"""From what the passes have found to scores of labels, with their baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stemcell.model import MultiTaskModel
from stemcell.probing.controls import CONTROL
from stemcell.probing.passes import OFFSETS, Findings
from stemcell.probing.table import Baselines, Scores
from stemcell.probing.tally import Tally
from stemcell.probing.target import open_heads


def score(
    target: MultiTaskModel, found: Mapping[str, Findings], labels: Mapping[str, Mapping[str, int]]
) -> list[Scores]:
    """The findings of each task as scores of the labels that occur, sorted; none of heads that are missing or closed.

    Args:
        found: by task; under the task's name and :data:`CONTROL` those of its control labels, if it has any.
        labels: the number of each label, by the same names.
    """
    results = []
    for task in (name for name in found if not name.endswith(CONTROL)):
        heads = _Heads(target, task)
        own = found[task]
        count = heads.counts(own.count)
        present = [label for label in sorted(labels[task]) if count[labels[task][label]]]
        numbers = [labels[task][label] for label in present]
        if own.links is not None:
            results.append(_links(task, present, numbers, own, heads))
        else:
            control = found.get(task + CONTROL)
            results += _centroids(task, present, numbers, own, heads, control, labels.get(task + CONTROL, {}))
    return results


class _Heads:
    """Where the heads of a model belong, and which of them are open for a task."""

    def __init__(self, target: MultiTaskModel, task: str) -> None:
        encoder = target.encoder
        self.kept, self.width = encoder.kept_heads, encoder.hidden // encoder.head_size
        self.open = open_heads(target, task)

    def sums(self, tally: Tally) -> np.ndarray:
        """[1 + samples, labels, layers, heads], NaN where a head is missing or closed."""
        return np.where(self.open, tally.total(self.kept, self.width), np.nan)

    def counts(self, tally: Tally) -> np.ndarray:
        """[labels], of a tally of one head that stands for all."""
        return tally.total([[0]], 1)[0, :, 0, 0]


def _links(task: str, labels: Sequence[str], numbers: list[int], found: Findings, heads: _Heads) -> Scores:
    assert found.links is not None and found.offsets is not None  # noqa: PT018
    count, controlled = (tally.total([[0]], 1)[:, numbers, 0, 0] for tally in (found.count, found.controlled))
    offsets = [list(range(OFFSETS))]
    right, selected = (
        tally.total(offsets, OFFSETS)[0, numbers, 0] for tally in (found.offsets.right, found.offsets.selected)
    )
    fixed = np.stack([_ratio(right, count[0]), _ratio(selected, controlled[0])])
    best, each = fixed[0].argmax(-1), np.arange(len(labels))
    return Scores(
        task=task,
        mode="link",
        labels=labels,
        count=count[0],
        controlled=controlled[0],
        score=_ratio(heads.sums(found.links.right)[:, numbers], count),
        control=_ratio(heads.sums(found.links.control)[0, numbers], controlled[0]),
        selectivity=_ratio(heads.sums(found.links.selected)[:, numbers], controlled),
        baselines=Baselines(
            name=[f"offset ±{offset}" for offset in best],
            score=fixed[0, each, best],
            selectivity=fixed[1, each, best],
            adjacent=fixed[:, :, 1],
            untrained=np.empty((0, 2, len(labels))),
        ),
    )


def _centroids(
    task: str, labels: Sequence[str], numbers: list[int], found: Findings, heads: _Heads, control: Findings | None,
    control_labels: Mapping[str, int],
) -> list[Scores]:  # fmt: skip
    count = found.count.total([[0]], 1)[:, numbers, 0, 0]
    nothing = np.full(len(labels), np.nan)
    results = []
    for mode, tally in found.right.items():
        score = _ratio(heads.sums(tally)[:, numbers], count)
        controlled, random = np.zeros(len(labels)), np.full_like(score, np.nan)
        if control is not None:
            # A label that no word was given at random has no control.
            given = [place for place, label in enumerate(labels) if label in control_labels]
            same = [control_labels[labels[place]] for place in given]
            counts = control.count.total([[0]], 1)[:, same, 0, 0]
            controlled[given] = counts[0]
            random[:, given] = _ratio(heads.sums(control.right[mode])[:, same], counts)
        results.append(
            Scores(
                task=task,
                mode=mode,
                labels=labels,
                count=count[0],
                controlled=controlled,
                score=score,
                control=random[0],
                selectivity=score - random,
                baselines=Baselines(
                    name=["most frequent label"] * len(labels),
                    score=(np.arange(len(labels)) == int(count[0].argmax())).astype(float),
                    selectivity=nothing,
                    adjacent=np.stack([nothing, nothing]),
                    untrained=np.empty((0, 2, len(labels))),
                ),
            )
        )
    return results


def _ratio(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Sums over counts, which lack the last dimensions; NaN where the count is 0."""
    counts = counts.reshape(counts.shape + (1,) * (sums.ndim - counts.ndim))
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
