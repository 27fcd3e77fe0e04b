"""Part-of-speech tagging: a linear classifier, scored by accuracy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stemcell.corpora.layers import Example
from stemcell.tasks.pos.decoder import PosDecoder
from stemcell.tasks.pos.labels import inventory
from stemcell.tasks.pos.probe import PROBE
from stemcell.tasks.pos.score import counts, score
from stemcell.tasks.protocol import Labels, Task
from stemcell.tasks.scoring import Row, metric


class Pos:
    """See ``stemcell.tasks.protocol.Task``."""

    name = "pos"
    main = "accuracy"
    probe = PROBE

    def labels(self, examples: Iterable[Example]) -> Labels:
        return inventory(examples)

    def decoder(self, hidden: int, labels: Labels, **choices: bool) -> PosDecoder:
        return PosDecoder(hidden, labels["tags"])

    def metric(self) -> Any:
        return metric("pos", "pos", score, "Accuracy of part-of-speech tags.", "")

    def counts(self, prediction: Row, reference: Row) -> tuple[int, ...]:
        return counts(prediction, reference)


TASK: Task = Pos()
