"""Gates against scalar arithmetic written from docs/method.md, section 5, alone, and what they do to encoders."""

from __future__ import annotations

import copy
import math

import pytest
import torch

from stemcell.heads.gates import Gates, HardConcrete, noise
from tests.encoders.small import FAMILIES, HEAD_SIZE, HEADS, LAYERS, SENTENCES, small

BETA, GAMMA, ZETA = 0.33, -0.1, 1.1


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def sampled(a: float, u: float) -> float:
    s = sigmoid((math.log(u) - math.log(1 - u) + a) / BETA)
    return min(1.0, max(0.0, s * (ZETA - GAMMA) + GAMMA))


def evaluated(a: float) -> float:
    return min(1.0, max(0.0, sigmoid(a) * (ZETA - GAMMA) + GAMMA))


def open_probability(a: float) -> float:
    return sigmoid(a - BETA * math.log(-GAMMA / ZETA))


PARAMETERS = [-6.0, -2.5, -2.39, -1.0, -0.1, 0.0, 0.4, 1.7, 2.5, 6.0]


def test_samples_values_and_probabilities_are_those_of_scalar_arithmetic() -> None:
    gate, a = HardConcrete(), torch.tensor(PARAMETERS, dtype=torch.float64)
    for u in (1e-9, 0.03, 0.2, 0.5, 0.77, 0.999):
        logistic = torch.full_like(a, math.log(u) - math.log(1 - u))
        expected = [sampled(x, u) for x in PARAMETERS]
        assert gate.sample(a, logistic).tolist() == pytest.approx(expected, abs=1e-12)
    assert gate.value(a).tolist() == pytest.approx([evaluated(x) for x in PARAMETERS], abs=1e-12)
    assert gate.open_probability(a).tolist() == pytest.approx([open_probability(x) for x in PARAMETERS], abs=1e-12)
    # docs/method.md, section 5: a gate closes at a < -2.4.
    assert gate.value(torch.tensor(-2.40)) == 0 < gate.value(torch.tensor(-2.39))
    for probability in (0.05, 0.5, 0.99):
        assert open_probability(gate.log_alpha(probability)) == pytest.approx(probability)


@pytest.mark.parametrize("a", [-1.5, 0.0, 1.2])
def test_a_million_draws_have_the_shares_of_the_closed_form(a: float) -> None:
    count = 1_000_000
    draws = HardConcrete().sample(torch.full((count,), a), noise(count, seed=7))
    # P(gate = 0) = 1 - P(open); P(gate = 1): the stretched share exceeds 1 where s > (1 - gamma) / (zeta - gamma).
    closed = 1 - open_probability(a)
    border = (1 - GAMMA) / (ZETA - GAMMA)
    wide = 1 - sigmoid(BETA * (math.log(border) - math.log(1 - border)) - a)
    for found, share in (((draws == 0).double().mean().item(), closed), ((draws == 1).double().mean().item(), wide)):
        assert abs(found - share) < 4.5 * math.sqrt(share * (1 - share) / count)
    assert draws.min() >= 0
    assert draws.max() <= 1


def test_noise_is_logistic_and_depends_on_the_seed_alone() -> None:
    drawn = noise(200_000, seed=3)
    assert torch.equal(drawn, noise(200_000, seed=3))
    assert not torch.equal(drawn, noise(200_000, seed=4))
    assert drawn.mean().abs() < 0.02
    assert drawn.var() == pytest.approx(math.pi**2 / 3, rel=0.02)
    assert drawn.isfinite().all()


def test_gradients_equal_finite_differences() -> None:
    gate, step = HardConcrete(), 1e-6
    a = torch.tensor([-1.1, -0.2, 0.3, 0.9], dtype=torch.float64, requires_grad=True)
    logistic = torch.tensor([0.4, -0.3, 0.1, -0.8], dtype=torch.float64)
    for function in (lambda x: gate.sample(x, logistic), gate.value, gate.open_probability):
        (slope,) = torch.autograd.grad(function(a).sum(), a)
        with torch.no_grad():
            difference = (function(a + step) - function(a - step)) / (2 * step)
        assert slope.tolist() == pytest.approx(difference.tolist(), abs=1e-7)
        assert (slope > 0).all()


def test_the_penalty_is_the_mean_over_layers_of_expected_open_heads() -> None:
    gates = Gates([3, 0, 2], ["pos", "dep"])
    values = {"pos": [0.1, -1.0, 2.0, 0.0, -3.0], "dep": [1.0, 1.0, -2.0, 0.5, 0.25]}
    for name, numbers in values.items():
        gates.log_alpha[name].data = torch.tensor(numbers)
    for name, numbers in values.items():
        expected = sum(map(open_probability, numbers)) / 3
        assert gates.penalty(name).item() == pytest.approx(expected, rel=1e-6)
    shared = sum(open_probability(a) * open_probability(b) for a, b in zip(*values.values(), strict=True)) / 3
    expected = sum(map(open_probability, values["pos"])) / 3 + 0.5 * shared
    assert gates.penalty("pos", overlap=0.5).item() == pytest.approx(expected, rel=1e-6)
    gates.penalty("pos", overlap=0.5).backward()
    assert gates.log_alpha["dep"].grad is None


def test_initial_values() -> None:
    torch.manual_seed(0)
    bound = math.sqrt(6 / (12 + 12))
    start = Gates([12] * 12).log_alpha["joint"]
    assert start.abs().max() <= bound
    assert start.abs().max() > 0.9 * bound
    assert abs(start.mean()) < 0.1
    probable = Gates([12] * 12, open_probability=0.9).log_alpha["joint"]
    assert abs(probable.mean() - HardConcrete().log_alpha(0.9)) < 0.1


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("family", FAMILIES)
def test_context_vectors_are_multiplied_head_by_head(family: str, attention: str) -> None:
    encoder = copy.deepcopy(small(family, attention))  # type: ignore[arg-type]
    batch = encoder.collate([encoder.tokenize(words) for words in SENTENCES[:3]], SENTENCES[:3])
    seen: list[torch.Tensor] = []
    before = encoder(batch).states
    gates = Gates(encoder.heads)
    gates.attach(encoder)
    gates.log_alpha["joint"].data.fill_(9.0)
    assert torch.equal(encoder(batch).states, before), "open gates change nothing"
    values = torch.rand(LAYERS, HEADS) * (torch.rand(LAYERS, HEADS) > 0.4)
    gates.log_alpha["joint"].data = torch.logit((values.flatten() + 0.1) / 1.2)
    last = encoder.output_projections()[-1]
    last.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    gated = encoder(batch).states
    # The same by hand: an output projection whose columns are multiplied.
    plain = copy.deepcopy(small(family, attention))  # type: ignore[arg-type]
    for layer, projection in enumerate(plain.output_projections()):
        projection.weight.data *= values[layer].repeat_interleave(HEAD_SIZE)
    torch.testing.assert_close(gated, plain(batch).states, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(gated, before, atol=1e-3)
    closed = (values[-1] == 0).repeat_interleave(HEAD_SIZE)
    assert (seen[0][..., closed] == 0).all()


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("family", ["tiny-bert", "tiny-deberta", "modernbert"])
def test_parts_of_a_batch_give_the_gradient_of_the_whole(family: str, checkpointing: bool) -> None:
    encoder = copy.deepcopy(small(family))
    if checkpointing:
        encoder.enable_gradient_checkpointing()
    encoder.train()
    for module in encoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    gates = Gates(encoder.heads)
    gates.attach(encoder)
    drawn = noise(sum(encoder.heads), seed=5)
    parameter = gates.log_alpha["joint"]
    found = []
    for parts in ([SENTENCES[:4]], [SENTENCES[:1], SENTENCES[1:4]]):
        gates.draw("pos", drawn)
        for sentences in parts:
            batch = encoder.collate([encoder.tokenize(words) for words in sentences], sentences)
            states = encoder(batch).states
            (states * torch.arange(states.shape[-1]).cos()).sum().backward()
        gates.settle("pos")
        assert parameter.grad is not None
        found.append(parameter.grad.clone())
    torch.testing.assert_close(*found, atol=1e-4, rtol=1e-4)
    assert found[0].abs().max() > 0
    # Where a sampled gate is cut off at 0 or 1 it has no slope.
    samples = gates.concrete.sample(parameter.detach(), drawn)
    assert (found[0][(samples == 0) | (samples == 1)] == 0).all()


def test_under_autocast_gates_stay_float32_and_their_product_does_not() -> None:
    encoder = copy.deepcopy(small("tiny-bert")).train()
    gates = Gates(encoder.heads)
    gates.attach(encoder)
    types = []
    encoder.output_projections()[0].register_forward_pre_hook(lambda module, args: types.append(args[0].dtype))
    batch = encoder.collate([encoder.tokenize(SENTENCES[0])], SENTENCES[:1])
    gates.draw("pos", noise(sum(encoder.heads), seed=1))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        encoder(batch).states.sum().backward()
    gates.settle("pos")
    parameter = gates.log_alpha["joint"]
    assert types == [torch.bfloat16]
    assert parameter.dtype == torch.float32
    assert parameter.grad is not None
    assert parameter.grad.dtype == torch.float32
