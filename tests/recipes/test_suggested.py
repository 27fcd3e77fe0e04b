"""Commands that messages suggest are copied into a shell as they stand, whatever is in their paths."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
from pathlib import Path

import pytest

import stemcell as package
from stemcell.encoders.hub import check_folder
from stemcell.errors import UserError, suggested
from tests.recipes.commands import done, refused, stemcell

VERSION = "stemcell {}"
"""What `stemcell --version` prints."""
NAME = "run 41 x"
QUICK = ("--encoder", "tiny-bert", "--epochs", 1, "--train-limit", 8, "--tasks", "pos", "--batch-sentences", 4)


def commands(text: str) -> list[list[str]]:
    """The words of each suggested command, to the end of its line or parenthesis, as a shell cuts them."""
    return [shlex.split(found) for found in re.findall(r"stemcell (?:train|evaluate|export|sync|data) [^\n()]*", text)]


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    shutil.copytree(trained, tmp_path / NAME)
    return tmp_path / NAME


def test_training_suggests_to_evaluate(corpus: Path, tmp_path: Path) -> None:
    result = done("train", "--data", corpus, *QUICK, "--out", tmp_path / NAME)
    assert ["stemcell", "evaluate", str(tmp_path / NAME)] in commands(result.err)


def test_a_corpus_is_checked(tmp_path: Path) -> None:
    result = done("data", "demo", "--out", tmp_path / NAME)
    assert commands(result.out) == [["stemcell", "data", "check", str(tmp_path / NAME)]]


def test_comparing_suggests_to_evaluate(run: Path) -> None:
    message = refused("compare", run, "--split", "dev", "--out", run.parent / "compared")
    assert ["stemcell", "evaluate", str(run), "--split", "dev"] in commands(message)


def test_damaged_counts_suggest_to_evaluate(run: Path) -> None:
    (run / "artifacts" / "sentences" / "test.npz").write_bytes(b"PK\x03\x04")
    message = refused("compare", run, "--out", run.parent / "compared")
    assert ["stemcell", "evaluate", str(run), "--split", "test"] in commands(message)


def test_a_store_out_of_reach_suggests_to_sync(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stemcell.tracking.sync.sync", lambda folder: (_ for _ in ()).throw(UserError("out of reach")))
    result = stemcell("evaluate", run, "--split", "dev")
    assert ["stemcell", "sync", str(run)] in commands(result.err)


def test_weights_as_a_pickle_suggest_to_convert(tmp_path: Path) -> None:
    folder = tmp_path / "it's $HOME"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(UserError, match="as a pickle") as error:
        check_folder(folder)
    found = re.search(r"python -c .*(?= and give FOLDER)", str(error.value))
    assert found
    python, flag, code = shlex.split(found[0])
    assert (python, flag) == ("python", "-c")
    strings = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    assert strings.count(str(folder)) == 2


def test_no_command_is_made_but_by_the_one_that_quotes() -> None:
    """Nowhere is a value put into a text behind the name of a command of ours."""
    found = []
    for path in sorted(Path(package.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
                if (
                    re.search(r"\bstemcell (?:[a-z]+ )*(?:--?[a-z-]+ )*\{\}", text)
                    and "version of" not in text
                    and text != VERSION
                ):
                    found.append(f"{path}:{node.lineno}: {text}")
    assert found == []
    assert suggested("sync", NAME) == f"stemcell sync '{NAME}'"
