"""Subtokens: the same as the tokenizer's own, every word with at least one, nothing in the text taken for markup."""

from __future__ import annotations

import numpy as np
import pytest
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from stemcell.corpora.penn import normalise
from stemcell.encoders.subtokens import Subtokens, prepare
from stemcell.errors import UserError
from tests.encoders.small import FAMILIES, LIMIT, SENTENCES, small


@pytest.mark.parametrize("family", FAMILIES)
def test_ids_are_those_of_transformers(family: str) -> None:
    encoder = small(family)
    for words in SENTENCES:
        part = words[:5]
        plain = [normalise(word) for word in part]
        expected = encoder.tokenizer(plain, is_split_into_words=True)
        subtokens = encoder.tokenize(part)
        if len(expected["input_ids"]) <= LIMIT:
            assert subtokens.ids.tolist() == expected["input_ids"]
            owners = np.array([-1 if owner is None else owner for owner in expected.word_ids()])
            assert subtokens.spans.T.tolist() == [
                [np.flatnonzero(owners == word)[0], np.flatnonzero(owners == word)[-1]] for word in range(len(part))
            ]


@pytest.mark.parametrize("family", ["tiny-roberta", "tiny-deberta", "modernbert"])
def test_byte_level_words_start_with_a_space(family: str) -> None:
    encoder = small(family)
    subtokens = encoder.tokenize(("The", "report", "The"))
    pieces = encoder.tokenizer.convert_ids_to_tokens(subtokens.ids.tolist())
    assert all(pieces[first].startswith("Ġ") for first in subtokens.spans[0])


def test_penn_words_are_read_as_plain_text() -> None:
    encoder = small("tiny-bert")
    assert encoder.tokenize(("``", "-LRB-", "''")).ids.tolist() == encoder.tokenize(('"', "(", '"')).ids.tolist()


@pytest.mark.parametrize("family", FAMILIES)
def test_words_without_subtokens_have_a_place(family: str) -> None:
    encoder = small(family)
    words = ("", "report", "\u200b", "\x00", "\u00ad", "Stop")
    subtokens = encoder.tokenize(words)
    first, last = subtokens.spans
    assert (first <= last).all()
    assert first[0] == 1
    assert (first[1:] == last[:-1] + 1).all()
    assert last[-1] == subtokens.size - 2
    assert subtokens.ids[1] == encoder.specials.unknown


def test_no_words_at_all() -> None:
    encoder = small("tiny-bert")
    subtokens = encoder.tokenize(())
    assert subtokens.ids.tolist() == [encoder.specials.first, encoder.specials.last]
    assert subtokens.spans.shape == (2, 0)


@pytest.mark.parametrize("family", FAMILIES)
def test_special_tokens_in_the_text_are_text(family: str) -> None:
    encoder = small(family)
    tokenizer = encoder.tokenizer
    subtokens = encoder.tokenize((tokenizer.mask_token, tokenizer.sep_token, tokenizer.pad_token))
    inner = subtokens.ids[1:-1].tolist()
    specials = encoder.specials
    assert not {specials.first, specials.last, specials.mask, specials.padding} & set(inner)


def test_windows_have_special_tokens_of_their_own() -> None:
    encoder = small("tiny-roberta")
    subtokens = encoder.tokenize(("report",) * 50)
    assert len(subtokens.windows) > 1
    assert sum(subtokens.windows) == subtokens.size
    assert max(subtokens.windows) == LIMIT
    rows = np.split(subtokens.ids, np.cumsum(subtokens.windows)[:-1])
    assert {row[0] for row in rows} == {encoder.specials.first}
    assert {row[-1] for row in rows} == {encoder.specials.last}
    edges = np.cumsum((0, *subtokens.windows))
    assert not set(subtokens.spans.ravel().tolist()) & {*edges.tolist(), *(edges - 1).tolist()}


def test_a_sentence_is_held_in_compact_integers() -> None:
    subtokens = small("tiny-bert").tokenize(SENTENCES[0])
    assert isinstance(subtokens, Subtokens)
    assert subtokens.ids.dtype == subtokens.spans.dtype == np.int32
    assert subtokens.ids.base is None or subtokens.ids.base.nbytes == subtokens.ids.nbytes


def test_a_tokenizer_without_mask_token_is_refused() -> None:
    backend = Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3}, unk_token="[UNK]"))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    with pytest.raises(UserError, match="lacks special tokens that are needed: mask_token"):
        prepare(tokenizer, 4)


def test_a_tokenizer_with_more_ids_than_embeddings_is_refused() -> None:
    tokenizer = small("tiny-bert").tokenizer
    with pytest.raises(UserError, match="do not fit"):
        prepare(tokenizer, len(tokenizer) - 1)
    with pytest.raises(UserError, match=r"are the tokenizer's files .* beside the model's"):
        prepare(tokenizer, 2 * len(tokenizer) + 1)
