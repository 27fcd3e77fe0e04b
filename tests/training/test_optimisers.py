import itertools

import pytest
import torch
from torch import nn

from stemcell.training.optimisers import adamw, scale_and_clip, set_rates


def rates(total, warmup):
    optimiser = adamw(
        {"encoder": (nn.Linear(2, 2), 5e-5), "decoders": (nn.Linear(2, 2), 1e-3), "gates": (nn.Linear(2, 2), 0.02)}
    )
    found = []
    for step in range(total):
        set_rates(optimiser, step, total, warmup)
        found.append([group["lr"] for group in optimiser.param_groups])
    return found


def test_rates_rise_over_the_warm_up_and_fall_to_the_end():
    found = rates(100, 0.1)
    encoder = [r[0] for r in found]
    assert encoder[0] == pytest.approx(5e-5 / 10)
    assert max(encoder) == pytest.approx(5e-5)
    assert encoder.index(max(encoder)) in (9, 10)
    assert encoder[-1] == pytest.approx(5e-5 / 90)
    assert all(b < a for a, b in itertools.pairwise(encoder[10:]))
    assert [r[1] / r[0] for r in found] == pytest.approx([20.0] * 100)
    assert {r[2] for r in found} == {0.02}, "gates have no schedule"


def test_no_warm_up_starts_at_the_peak():
    assert rates(10, 0.0)[0][0] == pytest.approx(5e-5)


def test_scaling_and_clipping_equal_the_two_steps_of_torch():
    torch.manual_seed(0)
    one, two = nn.Linear(8, 8), nn.Linear(8, 8)
    for factor, limit in [(3.0, 1.0), (1e-3, 1.0), (1.0, 0.5)]:
        for p, q in zip(one.parameters(), two.parameters(), strict=True):
            p.grad = torch.randn_like(p)
            q.grad = p.grad * factor
        expected = nn.utils.clip_grad_norm_(two.parameters(), limit)
        norm = scale_and_clip(list(one.parameters()), factor, limit)
        assert norm.item() == pytest.approx(expected.item(), rel=1e-5)
        for p, q in zip(one.parameters(), two.parameters(), strict=True):
            torch.testing.assert_close(p.grad, q.grad)


def test_a_decoder_without_a_batch_stays_as_it_is():
    encoder, decoders = nn.Linear(2, 2), nn.ModuleDict({"pos": nn.Linear(2, 2), "dep": nn.Linear(2, 2)})
    optimiser = adamw({"encoder": (encoder, 0.1), "decoders": (decoders, 0.1)})
    for task in ("dep", "pos"):
        optimiser.zero_grad(set_to_none=True)
        before = decoders["dep"].weight.clone()
        decoders[task](encoder(torch.ones(1, 2))).sum().backward()
        optimiser.step()
    # Momentum from the first step would move it in the second.
    assert torch.equal(decoders["dep"].weight, before)
