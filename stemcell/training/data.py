"""A task's sentences, tokenised once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stemcell.corpora.layers import Example
from stemcell.encoders.words import Batch, Subtokens, WordEncoder
from stemcell.tasks.protocol import Decoder, Target

Words = tuple[str, ...]


class Sentences:
    """Sentences with their subtokens; ``sizes`` are in subtokens, special tokens included.

    ``known`` holds subtokens of sentences that were met before, and takes those of new ones.
    """

    def __init__(
        self, encoder: WordEncoder, words: Iterable[Words], known: dict[Words, Subtokens] | None = None
    ) -> None:
        self.words = list(words)
        known = {} if known is None else known
        new = list(dict.fromkeys(sentence for sentence in self.words if sentence not in known))
        known.update(zip(new, encoder.tokenize_all(new), strict=True))
        self.subtokens = [known[sentence] for sentence in self.words]
        self.sizes = [subtokens.size for subtokens in self.subtokens]
        self._encoder = encoder

    def __len__(self) -> int:
        return len(self.words)

    def batch(self, indices: Sequence[int]) -> Batch:
        """The sentences at ``indices``, padded."""
        return self._encoder.collate([self.subtokens[i] for i in indices], [self.words[i] for i in indices])


class TrainingData(Sentences):
    """A task's training sentences with their gold as tensors, made when first asked for."""

    def __init__(
        self, encoder: WordEncoder, decoder: Decoder, examples: Sequence[Example], known: dict[Words, Subtokens]
    ) -> None:
        self._examples, self._decoder = examples, decoder
        self._targets: dict[int, Target] = {}
        super().__init__(encoder, (example.words for example in examples), known)

    def target(self, index: int) -> Target:
        """Gold of one sentence (see :meth:`Decoder.target`)."""
        if index not in self._targets:
            self._targets[index] = self._decoder.target(self._examples[index])
        return self._targets[index]

    def counts(self, indices: Sequence[int]) -> list[float]:
        """Denominators of the terms of the loss over the sentences at ``indices``."""
        return [sum(column) for column in zip(*(self._decoder.counts(self.target(i)) for i in indices), strict=True)]
