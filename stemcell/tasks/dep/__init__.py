"""Dependency parsing: biaffine arcs and relations, single-root trees, scored by attachment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stemcell.corpora.layers import Example
from stemcell.tasks.dep.decoder import DepDecoder
from stemcell.tasks.dep.labels import inventory
from stemcell.tasks.dep.probe import PROBE
from stemcell.tasks.dep.score import counts, score
from stemcell.tasks.protocol import Labels, Task
from stemcell.tasks.scoring import Row, metric


class Dep:
    """See ``stemcell.tasks.protocol.Task``. Choice: ``projective``, only projective trees are decoded."""

    name = "dep"
    main = "las"
    probe = PROBE

    def labels(self, examples: Iterable[Example]) -> Labels:
        return inventory(examples)

    def decoder(self, hidden: int, labels: Labels, **choices: bool) -> DepDecoder:
        return DepDecoder(hidden, labels["relations"], projective=choices.get("projective", False))

    def metric(self) -> Any:
        return metric("dep", "dep", score, "Labelled and unlabelled attachment scores.", "Zeman et al. 2018")

    def counts(self, prediction: Row, reference: Row) -> tuple[int, ...]:
        return counts(prediction, reference)


TASK: Task = Dep()
