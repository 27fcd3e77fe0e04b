"""Semantic roles, end to end: predicates, their arguments and roles; scored by micro F1 of (predicate, span, role)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stemcell.corpora.layers import Example
from stemcell.tasks.protocol import Labels, Task
from stemcell.tasks.scoring import Row, metric
from stemcell.tasks.srl.beam import SpanDecoder
from stemcell.tasks.srl.graph import GraphDecoder
from stemcell.tasks.srl.labels import inventory
from stemcell.tasks.srl.probe import PROBE
from stemcell.tasks.srl.score import counts, score


class Srl:
    """See ``stemcell.tasks.protocol.Task``. Choice: ``paper``, the paper's beam of spans in place of the graph."""

    name = "srl"
    main = "f1"
    probe = PROBE

    def labels(self, examples: Iterable[Example]) -> Labels:
        return inventory(examples)

    def decoder(self, hidden: int, labels: Labels, **choices: bool) -> GraphDecoder | SpanDecoder:
        return (SpanDecoder if choices.get("paper") else GraphDecoder)(hidden, labels["roles"])

    def metric(self) -> Any:
        return metric("srl", "srl", score, "Micro F1 of (predicate, span, role), end to end, without V.", "")

    def counts(self, prediction: Row, reference: Row) -> tuple[int, ...]:
        return counts(prediction, reference)


TASK: Task = Srl()
