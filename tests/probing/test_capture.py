"""Probing must not disturb, and what is seen must be what the heads do."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor

from stemcell.encoders.words import WordEncoder
from stemcell.heads.gates import Gates
from stemcell.probing.capture import capture
from stemcell.probing.run import probe_all
from tests.encoders.small import FAMILIES, HEAD_SIZE, HEADS, LAYERS, SENTENCES, small
from tests.probing import reference, texts


def batch_of(encoder: WordEncoder):
    return encoder.collate(encoder.tokenize_all(SENTENCES), SENTENCES)


@torch.inference_mode()
def seen(encoder: WordEncoder) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    weights, contexts = [], []
    with capture(encoder, lambda _, w: weights.append(w.clone()), lambda _, c: contexts.append(c.clone())):
        states = encoder(batch_of(encoder)).states
    return states, weights, contexts


@pytest.mark.parametrize("family", FAMILIES)
def test_hidden_states_are_the_same_to_the_bit(family: str) -> None:
    encoder = small(family, "eager")
    batch = batch_of(encoder)
    with torch.inference_mode():
        before = encoder(batch).states
        wanted = encoder.model(batch.ids, attention_mask=batch.mask, output_attentions=True).attentions
        during, weights, contexts = seen(encoder)
        after = encoder(batch).states
    assert torch.equal(before, during)
    assert torch.equal(before, after)
    assert len(weights) == len(contexts) == LAYERS
    assert all(torch.equal(own, other) for own, other in zip(weights, wanted, strict=True))
    assert contexts[0].shape == (*batch.ids.shape, HEADS * HEAD_SIZE)


@pytest.mark.parametrize(
    "family", ["tiny-bert", "tiny-roberta", "tiny-electra", "tiny-deberta", "deberta-v3", "modernbert"]
)
def test_contexts_are_attention_times_values_of_an_undisturbed_pass(family: str) -> None:
    """The fault of the release, an output projection that is applied twice, would move every layer after the first."""
    encoder = small(family, "eager")
    ids = encoder.tokenize(SENTENCES[2]).ids.tolist()
    window = reference.Window(encoder, ids)

    def difference() -> list[float]:
        found: list[Tensor] = []
        with torch.inference_mode(), capture(encoder, contexts=lambda _, c: found.append(c.clone())):
            encoder.model(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long))
        heads = [c[0].view(len(ids), HEADS, HEAD_SIZE).transpose(0, 1).double() for c in found]
        return [
            (own - torch.from_numpy(other)).abs().max().item()
            for own, other in zip(heads, window.attended, strict=True)
        ]

    assert max(difference()) < 1e-5
    handles = [p.register_forward_hook(lambda m, a, out: torch.nn.functional.linear(out, m.weight, m.bias))
               for p in encoder.output_projections()]  # fmt: skip
    try:
        assert min(difference()[1:]) > 1e-3
    finally:
        for handle in handles:
            handle.remove()


def test_hooks_are_gone_after_an_error() -> None:
    encoder = small("tiny-deberta", "eager")

    def fail(layer: int, values: Tensor) -> None:
        raise ZeroDivisionError

    def hooks() -> list[list[int]]:
        return [[*module._forward_hooks, *module._forward_pre_hooks] for module in encoder.modules()]

    before = hooks()
    with pytest.raises(ZeroDivisionError), capture(encoder, fail, fail):
        encoder(batch_of(encoder))
    assert hooks() == before


def test_contexts_are_seen_before_the_gates() -> None:
    encoder = copy.deepcopy(small("tiny-bert", "eager"))
    free = seen(encoder)
    gates = Gates(encoder.heads)
    with torch.no_grad():
        gates.log_alpha["joint"].fill_(0.3)
        gates.log_alpha["joint"][1] = -9.0
    gates.attach(encoder)
    gated = seen(encoder)
    assert torch.equal(free[2][0], gated[2][0])
    assert not torch.equal(free[0], gated[0])


@pytest.mark.parametrize("family", ["tiny-bert", "tiny-deberta", "deberta-v3", "modernbert", "distilbert"])
def test_removed_heads_have_no_score_and_the_others_keep_their_numbers(family: str) -> None:
    """A head that is closed and one that is removed leave the same to the rest."""
    corpus = texts.corpus()
    removed, closed = copy.deepcopy(small(family, "eager")), copy.deepcopy(small(family, "eager"))
    removed.keep_heads([[], [0, 2], [1, 2, 3]])
    gates = Gates(closed.heads)
    with torch.no_grad():
        gates.log_alpha["joint"].fill_(9.0)
        gates.log_alpha["joint"][[0, 1, 2, 3, 5, 7, 8]] = -9.0
    from stemcell.model import MultiTaskModel

    one = probe_all(removed, corpus, samples=10).cells
    two = probe_all(MultiTaskModel(closed, {}, gates), corpus, samples=10).cells
    missing = (one.layer == 1) | ((one.layer == 2) & one["head"].isin([2, 4])) | ((one.layer == 3) & (one["head"] == 1))
    values = ["score", "low", "high"]
    assert one.loc[missing, [*values, "control", "selectivity"]].isna().all(axis=None)
    assert one.loc[~missing, values].notna().all(axis=None)
    assert one["count"].equals(two["count"])
    assert (one.score - two.score).abs().max() == 0
    assert one.score.isna().equals(two.score.isna())


def test_tasks_with_gates_of_their_own_are_probed_with_them() -> None:
    from stemcell.model import MultiTaskModel

    corpus = texts.corpus()
    encoder = copy.deepcopy(small("tiny-bert", "eager"))
    gates = Gates(encoder.heads, ("pos", "dep"))
    with torch.no_grad():
        for task, shut in (("pos", 0), ("dep", 1)):
            gates.log_alpha[task].fill_(9.0)
            gates.log_alpha[task][shut] = -9.0
    both = probe_all(MultiTaskModel(encoder, {}, gates), corpus, ["pos", "dep"], samples=0).cells
    for task, shut in (("pos", 1), ("dep", 2)):
        rows = both[(both.task == task) & both.score.isna()]
        assert set(zip(rows.layer, rows["head"], strict=True)) == {(1, shut)}
        alone = copy.deepcopy(small("tiny-bert", "eager"))
        own = Gates(alone.heads)
        own.log_alpha["joint"].data.copy_(gates.log_alpha[task].data)
        cells = probe_all(MultiTaskModel(alone, {}, own), corpus, [task], samples=0).cells
        assert cells.equals(both[both.task == task].reset_index(drop=True))
