"""Named entities: biaffine span classification, scored by micro F1 of exact labelled spans."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stemcell.corpora.layers import Example
from stemcell.tasks.ner.decoder import NerDecoder
from stemcell.tasks.ner.labels import inventory
from stemcell.tasks.ner.probe import PROBE
from stemcell.tasks.ner.score import counts, score
from stemcell.tasks.protocol import Labels, Task
from stemcell.tasks.scoring import Row, metric


class Ner:
    """See ``stemcell.tasks.protocol.Task``. Choice: ``nested``, entities may lie within one another."""

    name = "ner"
    main = "f1"
    probe = PROBE

    def labels(self, examples: Iterable[Example]) -> Labels:
        return inventory(examples)

    def decoder(self, hidden: int, labels: Labels, **choices: bool) -> NerDecoder:
        return NerDecoder(hidden, labels["types"], nested=choices.get("nested", False))

    def metric(self) -> Any:
        return metric("ner", "ner", score, "Micro F1 of exact labelled entities, as conlleval counts.", "")

    def counts(self, prediction: Row, reference: Row) -> tuple[int, ...]:
        return counts(prediction, reference)


TASK: Task = Ner()
