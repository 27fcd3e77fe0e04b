"""The seam between the house and its tasks: what a task and its decoder must offer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from torch import Tensor

from stemcell.corpora.layers import Example
from stemcell.encoders.encoded import Encoded
from stemcell.tasks.probes import Probe

Labels = dict[str, list[str]]
"""Label inventories of a task by name, such as ``{"tags": ["NN", ...]}``; sorted."""

Target = dict[str, Tensor]
"""One sentence's gold, as small CPU tensors."""


class Decoder(Protocol):
    """A task's module on top of word vectors (also an ``nn.Module``)."""

    def target(self, example: Example) -> Target:
        """Gold of one sentence as CPU tensors. A label unseen in training never raises: it cannot be predicted."""

    def counts(self, target: Target) -> tuple[float, ...]:
        """This sentence's share in the denominator of each term of the loss.

        A batch's loss is the sum over terms of (sum over its sentences) / (sum of their counts), however the batch
        is cut up over accumulation steps and processes.
        """

    def loss(self, encoded: Encoded, targets: Sequence[Target]) -> Tensor:
        """Terms of the loss, summed over the batch, [terms], float32, in the order of :meth:`counts`."""

    def decode(self, encoded: Encoded) -> list[Any]:
        """The best annotation of each sentence, of the layer's type (``stemcell.corpora.layers``)."""


class Task(Protocol):
    """A task: labels, decoder, score and probe. One folder a task; listed in ``stemcell.tasks.NAMES``."""

    name: str
    """Also the name of the layer that it learns from."""

    main: str
    """The key of :meth:`metric`'s result by which models are chosen, such as ``f1``."""

    probe: Probe
    """What heads are asked of it."""

    def labels(self, examples: Iterable[Example]) -> Labels:
        """Inventories seen in training, sorted."""

    def decoder(self, hidden: int, labels: Labels, **choices: bool) -> Decoder:
        """A fresh decoder over vectors of size ``hidden``."""

    def metric(self) -> Any:
        """An ``evaluate.Metric``.

        ``compute(predictions=rows, references=rows)`` takes rows as ``layers.to_row`` and ``layers.example_row`` make
        them and returns plain floats from 0 to 1 (never NaN) by name, and under ``labels`` a list of dicts
        ``{"label", "gold", "predicted", "correct", "precision", "recall", "f1"}``, one a label, gold labels that
        training never saw included.
        """

    def counts(self, prediction: dict[str, Any], reference: dict[str, Any]) -> tuple[int, ...]:
        """One sentence's (correct, of), or (correct, predicted, gold) where the main score is an F1.

        Their sums over sentences give the main score (:func:`stemcell.tasks.scoring.main_score`).
        """
