"""L0 gates on attention heads (docs/method.md, section 5): which heads a task needs is learnt with the task.

The gate is a hard concrete variable (Louizos, Welling and Kingma 2018, "Learning Sparse Neural Networks through L0
Regularization", section 3.1 and equation 12), one a head as in Voita, Talbot, Moiseev, Sennrich and Titov 2019,
"Analyzing Multi-Head Self-Attention".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from stemcell.encoders.words import WordEncoder
from stemcell.heads.maps import JOINT


@dataclass(frozen=True, slots=True)
class HardConcrete:
    """A sigmoid of logistic noise, stretched from (0, 1) to (low, high) and cut back to [0, 1].

    Attributes:
        temperature: beta, of the noise.
        low: gamma, below 0, so that gates can be exactly 0.
        high: zeta, above 1, so that they can be exactly 1.
    """

    temperature: float = 0.33
    low: float = -0.1
    high: float = 1.1

    def sample(self, log_alpha: Tensor, noise: Tensor) -> Tensor:
        """Gates in training, of the parameters' shape; ``noise`` is log u - log(1 - u), u uniform on (0, 1)."""
        return self._stretched(torch.sigmoid((noise + log_alpha) / self.temperature))

    def value(self, log_alpha: Tensor) -> Tensor:
        """Gates in evaluation: without noise and temperature."""
        return self._stretched(torch.sigmoid(log_alpha))

    def open_probability(self, log_alpha: Tensor) -> Tensor:
        """The probability that a sampled gate is not 0."""
        return torch.sigmoid(log_alpha - self.temperature * math.log(-self.low / self.high))

    def log_alpha(self, open_probability: float) -> float:
        """The parameter that gives a gate this probability of being open."""
        odds = math.log(open_probability) - math.log1p(-open_probability)
        return odds + self.temperature * math.log(-self.low / self.high)

    def _stretched(self, share: Tensor) -> Tensor:
        return (share * (self.high - self.low) + self.low).clamp(0.0, 1.0)


class Gates(nn.Module):
    """One gate a head of an encoder; one set of them for all tasks (``joint``) or one a task.

    The gates multiply the heads' context vectors (attended values) before the attention's output projection. In
    training they are those of the last :meth:`draw`; otherwise the evaluation gates of the chosen set.

    Attributes:
        heads: heads of each layer.
        log_alpha: the parameters, [sum of heads] float32, by set.
    """

    def __init__(
        self, heads: Sequence[int], sets: Sequence[str] = (JOINT,), concrete: HardConcrete | None = None,
        open_probability: float = 0.0,
    ) -> None:  # fmt: skip
        """Fresh gates: uniform Xavier around 0, or around where they are open with ``open_probability``."""
        super().__init__()
        self.heads = list(heads)
        self.concrete = concrete or HardConcrete()
        centre = self.concrete.log_alpha(open_probability) if open_probability else 0.0
        bound = math.sqrt(6 / (len(self.heads) + max(self.heads)))
        self.log_alpha = nn.ParameterDict()
        for name in sets:
            self.log_alpha[name] = nn.Parameter(centre + torch.empty(sum(self.heads)).uniform_(-bound, bound))
        self._chosen = sets[0]
        self._hooks: list[RemovableHandle] = []
        self._drawn: Tensor | None = None
        self._sample: Tensor | None = None

    @property
    def sets(self) -> list[str]:
        """The names of the sets."""
        return list(self.log_alpha)

    @property
    def per_task(self) -> bool:
        """Whether each task has a set of its own."""
        return JOINT not in self.log_alpha

    def set_of(self, task: str) -> str:
        """The name of the set that a task's gates are in."""
        return task if self.per_task else JOINT

    def attach(self, encoder: WordEncoder) -> None:
        """Gate an encoder's heads from now on, until :meth:`detach`."""
        for layer, projection in enumerate(encoder.output_projections()):
            self._hooks.append(projection.register_forward_pre_hook(partial(self._gate, layer)))

    def detach(self) -> None:
        """Leave alone the encoders whose heads were gated."""
        while self._hooks:
            self._hooks.pop().remove()

    def choose(self, task: str) -> None:
        """Use the gates of a task from now on."""
        self._chosen = self.set_of(task)

    def parameter(self, task: str) -> nn.Parameter:
        """The parameters that a task's gates have."""
        return self.log_alpha[self.set_of(task)]

    def draw(self, task: str, noise: Tensor) -> None:
        """Sample a task's gates, to be used until :meth:`settle`; ``noise`` as :meth:`HardConcrete.sample` takes it."""
        self.choose(task)
        self._sample = self.concrete.sample(self.parameter(task), noise)
        # A leaf of its own, so that any number of backward passes, recomputed ones too, add up in its gradient.
        self._drawn = self._sample.detach().requires_grad_()

    def settle(self, task: str) -> None:
        """Carry the gradient that backward passes left at the sample over to the parameters; forget the sample."""
        assert self._drawn is not None
        assert self._sample is not None
        parameter = self.parameter(task)
        gradient = torch.zeros_like(parameter) if self._drawn.grad is None else self._drawn.grad
        (parameter.grad,) = torch.autograd.grad(self._sample, parameter, gradient)
        self._drawn = self._sample = None

    def penalty(self, task: str, overlap: float = 0.0) -> Tensor:
        """Mean over layers of the expected number of open heads, [].

        Args:
            overlap: weight, beside it, of the heads that are expected to be open for this task and another one, both
                drawn by themselves (mean over the other sets, whose parameters get no gradient).
        """
        wanted = self.concrete.open_probability(self.parameter(task))
        total = wanted.sum()
        others = [a.detach() for name, a in self.log_alpha.items() if name != task] if self.per_task else []
        if overlap and others:
            taken = self.concrete.open_probability(torch.stack(others)).mean(0)
            total = total + overlap * (wanted * taken).sum()
        return total / len(self.heads)

    @torch.no_grad()
    def values(self) -> dict[str, Tensor]:
        """The evaluation gates by set, [sum of heads] float32 on the CPU."""
        return {name: self.concrete.value(a).cpu() for name, a in self.log_alpha.items()}

    def _gate(self, layer: int, projection: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        context = args[0]
        if self._drawn is not None:
            gates = self._drawn
        else:
            gates = self.concrete.value(self.log_alpha[self._chosen]).detach()
        gates = gates.split(self.heads)[layer]
        if not len(gates):
            return args
        columns = gates.repeat_interleave(context.shape[-1] // len(gates))
        return (context * columns.to(context.dtype), *args[1:])


def noise(count: int, seed: int) -> Tensor:
    """Logistic noise log u - log(1 - u), [count] float32; the same for a seed on every machine and device."""
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(count, generator=generator, dtype=torch.float64).clamp_(min=1e-12)
    return (uniform.log() - torch.log1p(-uniform)).float()
