"""The choice of the SRL decoder, and runs from before there was one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stemcell.config import from_dict
from stemcell.files import sha256
from stemcell.tracking.folder import RunFolder
from tests.recipes.commands import done, read, weights

SIZES = ("--encoder", "tiny-bert", "--tasks", "srl", "--train-limit", 16, "--batch-sentences", 8)


def _forget(file: Path) -> None:
    record = read(file)
    assert record["config"].pop("srl_decoder") == "paper"
    del record["sha256"]
    file.write_text(json.dumps(record))


@pytest.fixture(scope="module")
def old(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run and its export that say nothing of the decoder."""
    folder = tmp_path_factory.mktemp("old")
    run, export = folder / "run", folder / "export"
    done("train", "--data", corpus, *SIZES, "--epochs", 1, "--srl-decoder", "paper", "--out", run)
    done("export", run, "--out", export)
    _forget(run / "run.json")
    _forget(export / "export.json")
    return run, export


def test_old_runs_and_exports_have_the_papers(old: tuple[Path, Path], tmp_path: Path) -> None:
    for number, source in enumerate(old):
        assert "srl" in done("evaluate", source).out.lower()
        pruned = tmp_path / str(number)
        done("train", "--from", source, "--prune", "static", "--epochs", 1, "--batch-sentences", 8, "--out", pruned)
        assert RunFolder(pruned).config["srl_decoder"] == "paper"
        assert "model/decoders.srl.pair.last.weight" in weights(pruned, "best")


def test_old_runs_are_resumed(old: tuple[Path, Path]) -> None:
    run, _ = old
    before = sha256(run / "checkpoints" / "last.json")
    done("train", "--resume", run, "--epochs", 2)
    assert sha256(run / "checkpoints" / "last.json") != before
    assert from_dict(RunFolder(run).config).srl_decoder == "paper"


def test_the_default_is_the_graph(trained: Path) -> None:
    assert RunFolder(trained).config["srl_decoder"] == "graph"
    assert any(name.startswith("model/decoders.srl.tags") for name in weights(trained, "best"))
