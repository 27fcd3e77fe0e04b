"""From sentences of words to one vector a word (docs/method.md, section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.functional import embedding_bag

from stemcell.encoders.batch import Batch, collate
from stemcell.encoders.encoded import Encoded
from stemcell.encoders.families import family_of
from stemcell.encoders.subtokens import Subtokens, prepare, tokenise
from stemcell.files import disk_errors


class WordEncoder(nn.Module):
    """A transformer encoder that takes words and gives one vector a word.

    A word's vector is the mean of the last layer's vectors of its subtokens. A sentence over ``limit`` is encoded in
    overlapping windows (:mod:`stemcell.encoders.windows`), each a row of the same pass.

    Attributes:
        model: the bare encoder, of transformers.
        tokenizer: its fast tokenizer, set up for words that are already split.
        hidden: size of the vectors.
        limit: longest window in subtokens, its two special tokens included.
        head_size: size of one head's context vector.

    Raises:
        UserError: the family has no adapter, or the tokenizer lacks what is needed.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        super().__init__()
        family = family_of(model.config)
        family.prepare(model)
        self.specials = prepare(tokenizer, model.config.vocab_size)
        self.model = model
        self.tokenizer = tokenizer
        self.hidden: int = model.config.hidden_size
        self.limit: int = min(family.positions(model.config), tokenizer.model_max_length)
        self.head_size: int = family.head_size(model.config)

    def output_projections(self) -> list[nn.Linear]:
        """Each layer's output projection of the attention; its input is [..., heads * head_size], head by head."""
        return family_of(self.model.config).output_projections(self.model)

    @property
    def heads(self) -> list[int]:
        """How many attention heads each layer has."""
        return [projection.in_features // self.head_size for projection in self.output_projections()]

    @property
    def kept_heads(self) -> list[list[int]]:
        """The heads each layer has, by the numbers (from 0) that they had before any was removed."""
        removed = getattr(self.model.config, "removed_heads", {})
        original = range(self.hidden // self.head_size)
        return [
            [head for head in original if head not in removed.get(str(layer), ())]
            for layer in range(len(self.output_projections()))
        ]

    def keep_heads(self, heads: Sequence[Iterable[int]]) -> None:
        """Removes all other heads, in place, and notes them under their original numbers in ``removed_heads`` of the
        model's configuration: ``{"0": [1, 5]}``, layers and heads counted from 0.

        Args:
            heads: of each layer, positions among the heads that it has.

        Raises:
            UserError: heads cannot be removed from this model without changing the others; nothing was changed.
        """
        family, config = family_of(self.model.config), self.model.config
        chosen = [sorted(set(wanted)) for wanted in heads]
        kept = [[present[i] for i in own] for own, present in zip(chosen, self.kept_heads, strict=True)]
        for layer, (own, present) in enumerate(zip(chosen, self.heads, strict=True)):
            if len(own) < present:
                family.keep_heads(self.model, layer, own)
        original = set(range(self.hidden // self.head_size))
        removed = {str(layer): sorted(original.difference(own)) for layer, own in enumerate(kept)}
        if any(removed.values()):
            config.removed_heads = {layer: own for layer, own in removed.items() if own}

    def tokenize(self, words: Sequence[str]) -> Subtokens:
        """One sentence's subtokens."""
        return self.tokenize_all([words])[0]

    def tokenize_all(self, sentences: Sequence[Sequence[str]]) -> list[Subtokens]:
        """Subtokens of many sentences at once, to be done once a sentence; every word gets at least one."""
        return tokenise(self.tokenizer, self.specials, self.limit, sentences)

    def collate(self, sentences: Sequence[Subtokens], words: Sequence[Sequence[str]]) -> Batch:
        """Sentences and their words as one padded batch, on the CPU."""
        return collate(sentences, words, self.specials.padding)

    def forward(self, batch: Batch, *, word_dropout: float = 0.0) -> Encoded:
        """Encodes a batch on the model's device.

        Args:
            batch: of :meth:`collate`.
            word_dropout: in training, the probability with which each subtoken is replaced by the mask token.

        Returns:
            States [sentences, longest + 2, hidden], float32 whatever the precision inside.
        """
        ids = batch.ids
        if self.training and word_dropout > 0:
            dropped = torch.rand(ids.shape, device=ids.device) < word_dropout
            ids = ids.masked_fill(dropped & batch.droppable, self.specials.mask)
        vectors = self.model(ids, attention_mask=batch.mask).last_hidden_state
        # Every position of the states is the mean over a bag of subtokens; an empty bag gives zero.
        states = embedding_bag(batch.index, vectors.flatten(0, 1).float(), batch.offsets, mode="mean")
        lengths = [len(words) for words in batch.words]
        return Encoded(states.view(len(lengths), -1, self.hidden), lengths, batch.words)

    def enable_gradient_checkpointing(self) -> None:
        """Trades time for memory in training: each layer is computed again in the backward pass instead of kept."""
        # The first is the newer name of the second.
        names = ("activation_checkpointing_enable", "gradient_checkpointing_enable")
        enable = next(getattr(self.model, name) for name in names if hasattr(self.model, name))
        enable({"use_reentrant": False})

    def save_description(self, folder: Path) -> None:
        """Writes all but the weights: ``config.json`` and the tokenizer's files, readable by transformers too.

        :func:`stemcell.encoders.load.from_description` is the inverse.

        Raises:
            UserError: the disk is full, or the folder cannot be written.
        """
        with disk_errors(folder):
            self.model.config.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
