"""``stemcell probe`` on encoders, runs and exports, by one process and by two."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stemcell.analysis import load
from stemcell.probing.run import probe
from stemcell.tracking.folder import RunFolder
from tests.recipes.commands import Process, done, refused

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def probed(trained: Path, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of a trained run."""
    out = tmp_path_factory.mktemp("probe") / "new" / "tables"
    result = done("probe", trained, "--data", corpus, "--split", "dev", "--out", out, "--samples", 20)
    assert "best head" in result.out
    assert f"probes: {out}" in result.out
    return out


def test_both_files_hold_the_table_that_python_gives(probed: Path, trained: Path, corpus: Path) -> None:
    written = pd.read_csv(probed / "probe.csv", keep_default_na=False, na_values=[""])
    pd.testing.assert_frame_equal(written, pd.read_parquet(probed / "probe.parquet"), check_dtype=False)
    frame = probe(load(str(trained)), str(corpus), split="dev", samples=20)
    pd.testing.assert_frame_equal(pd.read_parquet(probed / "probe.parquet"), frame, check_dtype=False)
    assert sorted(path.name for path in probed.iterdir()) == [
        "atlas.html", "probe-labels.csv", "probe-ranks.csv", "probe.csv", "probe.parquet",
    ]  # fmt: skip
    assert set(frame.task) == {"pos", "ner", "dep", "con", "srl"}


def test_two_processes_find_what_one_finds(probed: Path, trained: Path, corpus: Path, tmp_path: Path) -> None:
    flags = ["--data", corpus, "--split", "dev", "--out", tmp_path, "--samples", 20, "--batch-sentences", 5]
    result = Process("probe", trained, *flags, processes=2).wait()
    assert result.code == 0, result.err
    assert result.out.count("probes: ") == 1
    one, two = (pd.read_parquet(folder / "probe.parquet") for folder in (probed, tmp_path))
    places = ["task", "label", "layer", "head", "mode", "count", "score"]
    pd.testing.assert_frame_equal(one[places], two[places], check_exact=True)
    pd.testing.assert_frame_equal(one, two, rtol=0, atol=1e-12)


def test_an_export_of_a_run_without_gates_scores_as_the_run(
    probed: Path, trained: Path, corpus: Path, tmp_path: Path
) -> None:
    done("export", trained, "--out", tmp_path / "export")
    done("probe", tmp_path / "export", "--data", corpus, "--split", "dev", "--out", tmp_path / "probe",
         "--tasks", "dep,pos", "--samples", 0)  # fmt: skip
    found, whole = (pd.read_parquet(folder / "probe.parquet") for folder in (tmp_path / "probe", probed))
    whole = whole[whole.task.isin(["dep", "pos"])].reset_index(drop=True)
    assert found.score.equals(whole.score)


def test_an_encoder_that_nobody_trained(corpus: Path, tmp_path: Path) -> None:
    flags = ["--tasks", "srl", "--out", tmp_path, "--samples", 0, "--figures", "--label", "srl:ARG0"]
    done("probe", "tiny-roberta", "--data", corpus, *flags)
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {f"{kind}-srl-link.{form}" for kind in ("heat", "layers") for form in ("png", "svg", "pdf")} < names
    assert {name for name in names if "ARG0" in name} == {f"heat-srl-ARG0.{form}" for form in ("png", "svg", "pdf")}
    assert "--out" in refused("probe", "tiny-roberta", "--data", corpus, "--figures")
    assert "dep:nsubj" in refused(
        "probe", "tiny-roberta", "--data", corpus, "--out", tmp_path / "x", "--label", "nsubj"
    )
    found = pd.read_csv(tmp_path / "probe.csv")
    assert set(found["mode"]) == {"link"}
    assert found.score.between(0, 1).all()


def test_what_cannot_be_probed_is_refused(corpus: Path, tmp_path: Path) -> None:
    assert "neither a run" in refused("probe", "no-such", "--data", corpus, "--out", tmp_path)
    assert "did you mean 'srl'" in refused("probe", "tiny-bert", "--data", corpus, "--out", tmp_path, "--tasks", "slr")
    assert "no-such" in refused("probe", "tiny-bert", "--data", tmp_path / "no-such", "--out", tmp_path)
    (tmp_path / "file").write_text("")
    assert "file" in refused("probe", "tiny-bert", "--data", corpus, "--out", tmp_path / "file", "--tasks", "pos")


def test_a_run_keeps_what_is_found_on_its_own_corpus(probed: Path, trained: Path, tmp_path: Path) -> None:
    found = pd.read_parquet(trained / "artifacts" / "probe" / "dev" / "probe.parquet")
    # Two processes may have probed it since.
    pd.testing.assert_frame_equal(found, pd.read_parquet(probed / "probe.parquet"), rtol=0, atol=1e-12)
    columns, rows = RunFolder(trained).read_table("probe/dev")
    assert columns == list(found.columns)
    assert [row[1] for row in rows] == found.label.tolist()
    with np.load(trained / "artifacts" / "probe" / "dev" / "samples.npz", allow_pickle=False) as samples:
        labels = samples["dep/link/labels"].tolist()
        score = samples["dep/link/score"]
    assert score.shape == (21, len(labels))
    best = found[(found.task == "dep")].groupby("label").score.max()
    assert score[0] == pytest.approx([best[label] for label in labels], abs=1e-6)
    scores = {name for entry in RunFolder(trained).history("results.jsonl") for name in entry.metrics}
    assert "final/dev/probe/dep/link/score" in scores
    # The record in MLflow has it too, and again there is nothing to send.
    assert "nothing" in done("sync", trained).out.lower()


def test_a_probe_of_an_encoder_is_a_record_of_its_own(corpus: Path, tmp_path: Path) -> None:
    flags = ["--data", corpus, "--split", "dev", "--tasks", "dep", "--samples", 5]
    done("probe", "tiny-bert", "tiny-electra", *flags, "--out", tmp_path / "out")
    folder = RunFolder(tmp_path / "out" / "tiny-electra")
    assert folder.tags["kind"] == "probe"
    assert folder.status().status == "FINISHED"
    assert (folder.path / "probe.csv").is_file()
    assert "not empty" in refused("probe", "tiny-electra", *flags, "--out", folder.path)
    done("probe", "tiny-electra", *flags, "--out", folder.path, "--overwrite")
    assert "--out" in refused("probe", "tiny-electra", *flags)


def test_attention_in_one_sentence(trained: Path, tmp_path: Path) -> None:
    flags = ["--pretokenized", "--out", tmp_path]
    done("attention", trained, "Mary slept\u00a0well .", "--heads", "1-2,4-4", *flags)
    found = pd.read_csv(tmp_path / "attention.csv")
    # As for `stemcell predict`, words stand apart by spaces and tabs alone.
    assert found.to_word.unique().tolist() == ["Mary", "slept\u00a0well", "."]
    assert len(found) == 2 * 9
    assert found.groupby(["head", "from"]).attention.sum().between(0, 1).all()
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".pdf", ".png", ".svg"}
    assert "1-9" in refused("attention", trained, "Mary slept .", "--heads", "1-9", *flags)
    assert "layer-head" in refused("attention", trained, "Mary slept .", "--heads", "nine", *flags)
    assert "empty" in refused("attention", trained, " ", "--heads", "1-1", *flags)
