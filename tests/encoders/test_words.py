"""Word vectors against plain loops, whatever the padding, the windows and the family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from stemcell.encoders.batch import Batch
from stemcell.encoders.words import WordEncoder
from tests.encoders.small import FAMILIES, LIMIT, SENTENCES, small

LONG = tuple(word for words in SENTENCES for word in words)


def _batch(encoder: WordEncoder, sentences: Sequence[tuple[str, ...]]) -> Batch:
    return encoder.collate(encoder.tokenize_all(sentences), sentences)


def _plain(encoder: WordEncoder, words: tuple[str, ...]) -> Tensor:
    """A sentence's states, [words + 2, hidden]: each window encoded alone, each word averaged alone."""
    subtokens = encoder.tokenize(words)
    rows = torch.from_numpy(subtokens.ids).long().split(list(subtokens.windows))
    vectors = torch.cat([encoder.model(row[None]).last_hidden_state[0] for row in rows])
    means = [vectors[first : last + 1].mean(0) for first, last in subtokens.spans.T]
    return torch.stack([vectors[0], *means, vectors[-1]])


@pytest.mark.parametrize("family", FAMILIES)
def test_states_equal_a_plain_loop(family: str) -> None:
    """Sentences of all lengths in one batch, one of them over the limit: padding and windows change nothing."""
    encoder = small(family)
    sentences = [*SENTENCES, LONG, ("\u200b", "Stop", "")]
    with torch.no_grad():
        encoded = encoder(_batch(encoder, sentences))
        expected = [_plain(encoder, words) for words in sentences]
    assert len(encoder.tokenize(LONG).windows) > 2
    assert encoded.lengths == [len(words) for words in sentences]
    assert encoded.words == sentences
    assert encoded.states.shape == (len(sentences), len(LONG) + 2, encoder.hidden)
    for states, alone in zip(encoded.states, expected, strict=True):
        torch.testing.assert_close(states[: len(alone)], alone, atol=2e-5, rtol=1e-4)
        assert not states[len(alone) :].any()


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_equal_a_plain_loop(family: str) -> None:
    encoder = small(family)
    sentences = [SENTENCES[1], LONG]
    embeddings = encoder.model.get_input_embeddings().weight
    torch.manual_seed(0)
    weights = torch.randn(len(sentences), len(LONG) + 2, encoder.hidden)

    (fast,) = torch.autograd.grad((encoder(_batch(encoder, sentences)).states * weights).sum(), embeddings)
    plain = sum((_plain(encoder, s) * w[: len(s) + 2]).sum() for s, w in zip(sentences, weights, strict=True))
    (slow,) = torch.autograd.grad(plain, embeddings)
    torch.testing.assert_close(fast, slow, atol=1e-3 * float(slow.abs().max()), rtol=1e-3)


def test_a_word_larger_than_a_window_has_a_vector() -> None:
    encoder = small("tiny-bert")
    sentences = [("An", "x" * (3 * LIMIT), "report", "-" * (2 * LIMIT), ".")]
    subtokens = encoder.tokenize(sentences[0])
    first, last = subtokens.spans
    assert last[3] - first[3] + 1 == LIMIT - 2
    with torch.no_grad():
        states = encoder(_batch(encoder, sentences)).states[0]
        torch.testing.assert_close(states, _plain(encoder, sentences[0]), atol=2e-5, rtol=1e-4)


def test_the_batch_counts_what_is_real_and_what_is_computed() -> None:
    encoder = small("tiny-roberta")
    sentences = [SENTENCES[2], LONG]
    subtokens = encoder.tokenize_all(sentences)
    batch = encoder.collate(subtokens, sentences)
    lengths = [length for s in subtokens for length in s.windows]
    assert batch.ids.shape == (len(lengths), LIMIT)
    assert batch.tokens == sum(s.size for s in subtokens) == int(batch.mask.sum())
    assert batch.padded == batch.ids.numel()
    assert batch.mask.sum(1).tolist() == lengths
    moved = batch.to("cpu")
    assert torch.equal(moved.ids, batch.ids)
    assert moved.words == sentences


def test_the_first_special_token_of_roberta_is_seen_and_its_padding_is_not() -> None:
    """``<s>`` has id 0 there and the padding id 1."""
    encoder = small("tiny-roberta")
    assert (encoder.specials.first, encoder.specials.padding) == (0, 1)
    batch = _batch(encoder, [SENTENCES[2], SENTENCES[0]])
    assert batch.mask[:, 0].tolist() == [1] * len(batch.mask)
    assert torch.equal(batch.mask == 0, batch.ids == 1)
    hidden = batch.mask * (batch.ids != 0)
    with torch.no_grad():
        seen = encoder.model(batch.ids, attention_mask=batch.mask).last_hidden_state
        unseen = encoder.model(batch.ids, attention_mask=hidden).last_hidden_state
        encoded = encoder(batch)
    assert (seen - unseen).abs().max() > 0.01
    torch.testing.assert_close(encoded.states[:, 0], torch.stack([seen[0, 0], seen[1, 0]]))


def _encoded_ids(encoder: WordEncoder, batch: Batch, **choices: float) -> Tensor:
    taken: list[Tensor] = []

    def take(_: Any, inputs: tuple[Tensor, ...]) -> None:
        taken.append(inputs[0])

    hook = encoder.model.register_forward_pre_hook(take)
    try:
        with torch.no_grad():
            encoder(batch, **choices)
    finally:
        hook.remove()
        encoder.eval()
    return taken[0]


@pytest.mark.parametrize("family", ["tiny-bert", "tiny-roberta", "xlm-r"])
def test_word_dropout_replaces_subtokens_at_its_rate_and_spares_special_tokens(family: str) -> None:
    encoder = small(family)
    sentences = [*SENTENCES, LONG] * 8
    batch = _batch(encoder, sentences)
    torch.manual_seed(3)
    ids = _encoded_ids(encoder.train(), batch, word_dropout=0.2)
    changed = ids != batch.ids
    specials = torch.isin(batch.ids, torch.tensor([encoder.specials.first, encoder.specials.last]))
    subtokens = batch.mask.bool() & ~specials
    assert torch.equal(batch.droppable, subtokens)
    assert not changed[~subtokens].any()
    assert (ids[changed] == encoder.specials.mask).all()
    number = int(subtokens.sum())
    # Four standard deviations of a binomial.
    assert abs(int(changed.sum()) / number - 0.2) < 4 * (0.16 / number) ** 0.5

    torch.manual_seed(3)
    assert torch.equal(_encoded_ids(encoder.train(), batch, word_dropout=0.2), ids)
    assert not torch.equal(_encoded_ids(encoder.train(), batch, word_dropout=0.2), ids)


def test_word_dropout_is_for_training_only() -> None:
    encoder = small("tiny-bert")
    batch = _batch(encoder, SENTENCES)
    assert torch.equal(_encoded_ids(encoder.eval(), batch, word_dropout=0.9), batch.ids)
    assert torch.equal(_encoded_ids(encoder.train(), batch), batch.ids)


@pytest.mark.parametrize("family", FAMILIES)
def test_bfloat16_autocast_gives_float32_vectors_close_by(family: str) -> None:
    encoder = small(family)
    batch = _batch(encoder, SENTENCES)
    with torch.no_grad():
        exact = encoder(batch).states
        with torch.autocast("cpu", torch.bfloat16):
            states = encoder(batch).states
    assert states.dtype == torch.float32
    assert (states - exact).abs().mean() < 0.1 * exact.abs().mean()


@pytest.mark.parametrize("family", FAMILIES)
def test_bfloat16_autocast_trains_every_parameter(family: str) -> None:
    encoder = small(family)
    batch = _batch(encoder, SENTENCES[:3])
    torch.manual_seed(0)
    weights = torch.randn(3, max(map(len, SENTENCES[:3])) + 2, encoder.hidden)
    parameters = dict(encoder.named_parameters())
    exact = torch.autograd.grad((encoder(batch).states * weights).sum(), list(parameters.values()), allow_unused=True)
    with torch.autocast("cpu", torch.bfloat16):
        loss = (encoder(batch).states * weights).sum()
    rough = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    for name, wanted, found in zip(parameters, exact, rough, strict=True):
        assert (wanted is None) == (found is None), name
        # The softmax does not see a bias of the keys: its gradient is rounding error around zero.
        if wanted is not None and found is not None and not name.endswith(("key.bias", "k_lin.bias")):
            assert found.dtype == torch.float32
            assert torch.cosine_similarity(wanted.flatten(), found.flatten(), dim=0) > 0.95, name


@pytest.mark.parametrize("family", FAMILIES)
def test_gradient_checkpointing_changes_nothing(family: str) -> None:
    encoder = small(family)
    batch = _batch(encoder, SENTENCES[:3])
    embeddings = encoder.model.get_input_embeddings().weight
    torch.manual_seed(0)
    weights = torch.randn(3, max(map(len, SENTENCES[:3])) + 2, encoder.hidden)

    def gradient() -> Tensor:
        encoder.train()
        torch.manual_seed(5)
        (result,) = torch.autograd.grad((encoder(batch, word_dropout=0.2).states * weights).sum(), embeddings)
        encoder.eval()
        return result

    kept = gradient()
    encoder.enable_gradient_checkpointing()
    try:
        torch.testing.assert_close(gradient(), kept, atol=1e-5, rtol=1e-5)
    finally:
        small.cache_clear()
