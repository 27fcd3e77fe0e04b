"""Sentences as an encoder sees them: subtokens in windows, and where each word is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from tokenizers import pre_tokenizers

from stemcell.corpora.penn import normalise
from stemcell.encoders.windows import cut
from stemcell.errors import UserError


class Specials(NamedTuple):
    """Ids of special tokens: at the edges of every window, for words without subtokens, dropped words, and padding."""

    first: int
    last: int
    unknown: int
    mask: int
    padding: int


@dataclass(frozen=True, slots=True)
class Subtokens:
    """A sentence's windows one after another.

    Attributes:
        ids: [size], int32, special tokens included.
        windows: how many of the ids each window has; one window unless the sentence is over the limit.
        spans: [2, words], int32, first and last position in ``ids`` of the subtokens whose mean is the word's vector.
        places: [size], int32, where in the sentence each id belongs: 0 for the first special token of every window,
            i + 1 for word i (the parts that ``spans`` leaves out too), words + 1 for the last special token.
    """

    ids: np.ndarray
    windows: tuple[int, ...]
    spans: np.ndarray
    places: np.ndarray

    @property
    def size(self) -> int:
        """Subtokens to encode, special tokens and overlaps of windows included."""
        return len(self.ids)


def prepare(tokenizer: Any, vocabulary: int) -> Specials:
    """Sets a fast tokenizer of transformers up for words that are already split, and finds its special tokens.

    Args:
        tokenizer: changed in place: never cuts nor pads, and starts every word with a space where spaces are part of
            subtokens.
        vocabulary: rows of the model's embedding.

    Raises:
        UserError: no fast tokenizer, a special token is missing, or tokenizer and model differ in size.
    """
    if not tokenizer.is_fast:
        raise UserError("the encoder's tokenizer has no fast version (tokenizer.json), which is needed")
    backend = tokenizer.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    _prefix_spaces(backend)
    names = ("cls_token", "sep_token", "unk_token", "mask_token", "pad_token")
    ids = [getattr(tokenizer, f"{name}_id") for name in names]
    missing = [name for name, number in zip(names, ids, strict=True) if number is None]
    if missing:
        raise UserError(f"the encoder's tokenizer lacks special tokens that are needed: {', '.join(missing)}")
    if len(tokenizer) > vocabulary or max(ids) >= vocabulary:
        raise UserError(f"tokenizer and model do not fit: {len(tokenizer)} ids, but only {vocabulary} embeddings")
    # Where its files are missing, transformers makes a tokenizer of special tokens alone and says nothing. Some models
    # have a few embeddings to spare, none has half of them.
    if len(tokenizer) < vocabulary / 2:
        raise UserError(
            f"the tokenizer knows {len(tokenizer)} subtokens and the model has {vocabulary}: are the tokenizer's files "
            "(tokenizer.json, or a vocabulary) beside the model's?"
        )
    return Specials(*ids)


def _prefix_spaces(backend: Any) -> None:
    """Byte-level vocabularies (RoBERTa, DeBERTa, ModernBERT) write a space into the first subtoken of a word; without
    it every word of a sentence would read as the continuation of the one before."""
    steps = backend.pre_tokenizer
    parts: Any = steps if isinstance(steps, pre_tokenizers.Sequence) else [steps]
    for step in parts:
        if isinstance(step, pre_tokenizers.ByteLevel):
            step.add_prefix_space = True


def tokenise(tokenizer: Any, specials: Specials, limit: int, sentences: Sequence[Sequence[str]]) -> list[Subtokens]:
    """All sentences' subtokens. Words are normalised the Penn way first (``-LRB-`` is read as ``(``).

    A word without any subtoken (empty, zero-width or control characters alone) gets the unknown token in its place,
    and so does a special token's name in the text: ``</s>`` there is a word, not the end of the sentence.

    Args:
        tokenizer: as :func:`prepare` left it.
        limit: longest window, its two special tokens included.
    """
    # Words that come split are cut into subtokens one by one, whatever their neighbours; so each is cut but once.
    words = list(dict.fromkeys(chain.from_iterable(sentences)))
    encodings = tokenizer.backend_tokenizer.encode_batch(
        [[normalise(word)] for word in words], is_pretokenized=True, add_special_tokens=False
    )
    markup = {specials.first, specials.last, specials.mask, specials.padding}
    pieces = {
        word: [specials.unknown if number in markup else number for number in encoding.ids] or [specials.unknown]
        for word, encoding in zip(words, encodings, strict=True)
    }
    return [_windows([pieces[word] for word in sentence], specials, limit - 2) for sentence in sentences]


def _windows(pieces: list[list[int]], specials: Specials, capacity: int) -> Subtokens:
    """A sentence of words of which each has its ids, in windows that hold ``capacity`` of them."""
    ids = np.fromiter(chain.from_iterable(pieces), np.int32)
    counts = np.fromiter(map(len, pieces), np.int64)
    start, size, window, first, last = cut(counts, capacity)
    rows = np.empty((len(start), size + 2), np.int32)
    rows[:, 0] = specials.first
    rows[:, 1:-1] = ids[start[:, None] + np.arange(size)]
    rows[:, -1] = specials.last
    places = np.zeros_like(rows)
    places[:, 1:-1] = np.repeat(np.arange(1, len(pieces) + 1), counts)[start[:, None] + np.arange(size)]
    places[:, -1] = len(pieces) + 1
    spans = np.array((first, last), np.int32) + (window * (size + 2) + 1).astype(np.int32)
    return Subtokens(rows.ravel(), (size + 2,) * len(start), spans, places.ravel())
