"""Constituency parsing: a CRF over binary bracketings and a label a bracket, scored as EVALB does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stemcell.corpora.layers import Example
from stemcell.tasks.con.decoder import ConDecoder
from stemcell.tasks.con.labels import inventory
from stemcell.tasks.con.probe import PROBE
from stemcell.tasks.con.score import counts, score
from stemcell.tasks.protocol import Labels, Task
from stemcell.tasks.scoring import Row, metric


class Con:
    """See ``stemcell.tasks.protocol.Task``."""

    name = "con"
    main = "f1"
    probe = PROBE

    def labels(self, examples: Iterable[Example]) -> Labels:
        return inventory(examples)

    def decoder(self, hidden: int, labels: Labels, **choices: bool) -> ConDecoder:
        return ConDecoder(hidden, labels["labels"])

    def metric(self) -> Any:
        return metric("con", "con", score, "Labelled bracket F1 as EVALB counts it.", "Sekine and Collins 1997")

    def counts(self, prediction: Row, reference: Row) -> tuple[int, ...]:
        return counts(prediction, reference)


TASK: Task = Con()
