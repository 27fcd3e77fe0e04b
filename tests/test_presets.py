"""The paper's settings as docs/method.md, sections 4 and 5, list them."""

import pytest

from stemcell.config import from_dict
from stemcell.errors import UserError

FIVE = "pos,ner,dep,con,srl"


@pytest.mark.parametrize(
    ("encoder", "tasks", "expected"),
    [
        ("bert", "pos", {"accumulation": 2, "encoder_lr": 5e-5, "epochs": 30}),
        ("electra", "pos", {"accumulation": 2, "encoder_lr": 1e-5}),
        ("bert", "ner", {"accumulation": 2}),
        ("bert", "dep", {"accumulation": 1}),
        ("roberta", "dep", {"accumulation": 4}),
        ("deberta", "con", {"accumulation": 4}),
        ("bert", "srl", {"accumulation": 4, "epochs": 30}),
        ("deberta", "srl", {"accumulation": 4, "epochs": 100}),
        ("bert", "pos,srl", {"accumulation": 4}),
        ("bert", "ner,con", {"accumulation": 2}),
        ("bert", "con,ner", {"accumulation": 2}),
        ("bert", "pos,dep", {"accumulation": 1}),
        ("bert", FIVE, {"accumulation": 4, "balance_penalty": False}),
    ],
)
def test_without_pruning(encoder: str, tasks: str, expected: dict) -> None:
    config = from_dict({"preset": "paper", "encoder": encoder, "tasks": tasks})
    assert {name: getattr(config, name) for name in expected} == expected
    assert config.prune == "no"


@pytest.mark.parametrize(
    ("encoder", "tasks", "penalty", "epochs", "early_stop", "accumulation"),
    [
        ("bert", "pos", 0.01, 30, True, 2),
        ("bert", "con", 0.01, 30, True, 2),
        ("bert", "dep", 0.01, 100, True, 1),
        ("roberta", "dep", 0.01, 30, True, 2),
        ("deberta", "dep", 0.02, 30, True, 2),
        ("bert", "ner", 0.0002, 100, False, 1),
        ("electra", "ner", 0.0002, 100, False, 2),
        ("bert", "srl", 0.001, 100, True, 4),
        ("electra", "srl", 0.002, 100, True, 4),
        ("deberta", FIVE, 0.001, 30, False, 4),
    ],
)
def test_with_pruning(
    encoder: str, tasks: str, penalty: float, epochs: int, early_stop: bool, accumulation: int
) -> None:
    config = from_dict({"preset": "paper", "encoder": encoder, "tasks": tasks, "prune": "dynamic"})
    assert (config.l0_penalty, config.epochs, config.early_stop) == (penalty, epochs, early_stop)
    assert config.accumulation == accumulation
    assert (config.encoder_lr, config.gate_lr, config.gate_temperature) == (1e-5, 1e-3, 0.33)
    assert (config.gate_low, config.gate_high, config.balance_penalty) == (-0.1, 1.1, True)


def test_what_is_given_goes_over_it() -> None:
    values = {"preset": "paper", "encoder": "bert", "tasks": "ner", "prune": "dynamic", "epochs": 3, "gate_lr": 0.05}
    config = from_dict(values)
    assert (config.epochs, config.gate_lr, config.l0_penalty) == (3, 0.05, 0.0002)


def test_the_encoders_rate_is_lower_where_heads_are_pruned() -> None:
    assert from_dict({}).encoder_lr == 5e-5
    assert from_dict({"prune": "dynamic"}).encoder_lr == 1e-5
    assert from_dict({"prune": "dynamic", "encoder_lr": 3e-5}).encoder_lr == 3e-5


@pytest.mark.parametrize(("tasks", "prune"), [("pos,ner,dep", "no"), ("pos,dep", "dynamic")])
def test_what_the_paper_does_not_have(tasks: str, prune: str) -> None:
    with pytest.raises(UserError, match="the paper has no such model of pos"):
        from_dict({"preset": "paper", "tasks": tasks, "prune": prune})


def test_the_decoder_of_roles_is_the_papers() -> None:
    assert from_dict({}).srl_decoder == "graph"
    assert from_dict({"preset": "paper", "tasks": "srl"}).srl_decoder == "paper"
    assert from_dict({"preset": "paper", "tasks": FIVE, "prune": "dynamic"}).srl_decoder == "paper"
    with pytest.raises(UserError, match="unknown srl_decoder 'grph': did you mean 'graph'"):
        from_dict({"srl_decoder": "grph"})
