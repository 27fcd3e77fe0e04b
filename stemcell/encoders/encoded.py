"""What an encoder hands to the decoders."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Encoded:
    """Word vectors of a batch.

    Attributes:
        states: [batch, longest + 2, hidden]. Position 0 is the first special token (the root in DEP), positions
            1 to n the words, position n + 1 the last special token; what follows is zero.
        lengths: words of each sentence, a plain list, so that nobody waits for the device.
        words: the sentences' words as given (not normalised), for decoders that look at them.
    """

    states: Tensor
    lengths: list[int]
    words: list[tuple[str, ...]]

    @property
    def vectors(self) -> Tensor:
        """The words' vectors alone, [batch, longest, hidden]; beyond a sentence, its last special token, then zero."""
        return self.states[:, 1:-1]

    def length_tensor(self) -> Tensor:
        """Lengths on the states' device, [batch]."""
        return torch.tensor(self.lengths, device=self.states.device)

    def mask(self) -> Tensor:
        """True at words, [batch, longest]."""
        longest = self.states.shape[1] - 2
        return torch.arange(longest, device=self.states.device)[None] < self.length_tensor()[:, None]

    def select(self, rows: list[int]) -> Encoded:
        """The sentences at ``rows`` alone."""
        index = torch.tensor(rows, device=self.states.device)
        lengths = [self.lengths[row] for row in rows]
        return Encoded(self.states[index, : max(lengths) + 2], lengths, [self.words[row] for row in rows])
