"""What version 0.1.0 wrote can be used as ever: a run with gates and its export, both of POS and SRL.

``tests/fixtures/former`` was made by that version: a small BERT (2 layers x 4 heads) trained for 40 epochs on 40
sentences, scored and probed on test. Its paths were shortened, and what no command reads was left out.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from tests.recipes.commands import done, points, read

FORMER = Path(__file__).parent.parent / "fixtures" / "former"
SCORE = "final/test/pos/accuracy"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A copy of the run, to be written to."""
    return Path(shutil.copytree(FORMER / "run", tmp_path / "run"))


def test_a_former_run_is_scored_as_before(run: Path) -> None:
    before = points(run, ["results.jsonl"])
    (run / "results.jsonl").unlink()
    done("evaluate", run, "--data", FORMER / "corpus")
    after = points(run, ["results.jsonl"])
    assert before[SCORE, 1] == pytest.approx(0.7045454545, abs=1e-9)
    scores = {name: value for (name, step), value in before.items() if step == 1}
    assert {name: after[name, 1] for name in scores} == pytest.approx(scores, abs=1e-9)


def test_a_former_run_is_probed_as_before(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "probe"
    done("probe", run, "--data", FORMER / "corpus", "--split", "test", "--samples", 0, "--out", out)
    before, after = pd.read_csv(FORMER / "probe.csv"), pd.read_csv(out / "probe.csv")
    keys = ["task", "label", "mode", "layer", "head"]
    merged = before.merge(after, on=keys, suffixes=("", "_after"), validate="one_to_one")
    assert len(merged) == len(before) == len(after)
    for column in ("count", "score", "control", "selectivity"):
        pd.testing.assert_series_equal(merged[column], merged[f"{column}_after"], check_names=False, atol=1e-6)


def test_a_former_run_is_exported_and_compared(run: Path, tmp_path: Path) -> None:
    done("export", run, "--out", tmp_path / "small")
    assert read(tmp_path / "small" / "export.json")["labels"] == read(FORMER / "export" / "export.json")["labels"]
    assert "of 8 heads kept" in done("gates", run, "--out", tmp_path / "figures").out
    done("compare", run, "--out", tmp_path / "comparison")
    assert (tmp_path / "comparison" / "artifacts" / "report.html").exists()


@pytest.mark.parametrize("source", ["run", "export"])
def test_former_models_annotate_alike(source: str) -> None:
    result = done("predict", FORMER / source, "--pretokenized", "--format", "jsonl", stdin="Mary slept .\n")
    assert '"words": ["Mary", "slept", "."]' in result.out
    other = "export" if source == "run" else "run"
    assert (
        result.out == done("predict", FORMER / other, "--pretokenized", "--format", "jsonl", stdin="Mary slept .\n").out
    )


def test_training_goes_on_from_a_former_export(tmp_path: Path) -> None:
    given = ("--from", FORMER / "export", "--data", FORMER / "corpus", "--epochs", 1)
    done("train", *given, "--prune", "static", "--gate-lr", 0.5, "--out", tmp_path / "run")
    assert read(tmp_path / "run" / "run.json")["config"]["srl_decoder"] == "paper"
