"""``stemcell compare`` on runs that are made up, and its ablation on ones that are trained."""

from __future__ import annotations

import csv
import json
import re
import shutil
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from stemcell.corpora.layers import LAYERS
from stemcell.tracking import store
from stemcell.tracking.folder import RunFolder
from stemcell.tracking.sync import sync
from tests.comparing import world
from tests.recipes.commands import done, read, refused, snapshot, status

PROBES = {task: "link" if task in ("dep", "srl") else "train-split" for task in LAYERS}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two seeds of everything that the paper has, of one encoder; MTL-5 is below STL."""
    folder = tmp_path_factory.mktemp("made-up")
    rng = np.random.default_rng(4)
    paths = []

    def make(name: str, tasks: tuple[str, ...], seed: int, quality: float, **more: object) -> None:
        probes = {f"{task}/{PROBES[task]}": {"A": quality, "<b>&": quality / 2} for task in tasks}
        made = world.run(folder / f"{name}-{seed}", tasks, seed, quality=quality, size=80, probes=probes, **more)
        paths.append(made.path)

    for seed in (1, 2):
        mask = rng.permutation(72).reshape(6, 12) < 36
        for task in LAYERS:
            make(task, (task,), seed, 0.9)
            make(f"{task}-dp", (task,), seed, 0.9, mask=mask)
        for pair in combinations(LAYERS, 2):
            make("-".join(pair), pair, seed, 0.85)
        make("mtl5", LAYERS, seed, 0.7)
        make("mtl5-dp", LAYERS, seed, 0.7, mask=mask)
    paths.append(world.pretrained(folder / "pretrained", {f"{t}/{m}": {"A": 0.5} for t, m in PROBES.items()}).path)
    return paths


def test_the_record_has_it_all_and_mlflow_a_copy(runs: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "compared"
    said = done("compare", *runs, "--out", out, "--samples", 200).out
    assert "| minilm | MTL-5 |" in said
    assert re.search(r"^H1 minilm: \w+", said, re.MULTILINE)
    assert "**Pruning heads" in said
    assert re.search(r"^stem-cell heads minilm: \d+ of 72", said, re.MULTILINE)
    assert status(out) == "FINISHED"
    figures = {path.name for path in (out / "artifacts" / "figures" / "minilm").iterdir()}
    assert {f"gains-{task}-{mode}.{form}" for task, mode in PROBES.items() for form in ("png", "svg", "pdf")} == figures
    verdicts = read(out / "artifacts" / "verdicts.json")
    assert [(each["claim"], each["encoder"]) for each in verdicts] == [(f"H{n}", "minilm") for n in range(1, 5)]
    assert {each["verdict"] for each in verdicts} <= {"supported", "contradicted", "not enough runs"}
    assert next(each["verdict"] for each in verdicts if each["claim"] == "H3") == "not enough runs"
    for name in ("joint", "pruning", "probes-pos-train-split-minilm"):
        for ending in ("csv", "md", "tex"):
            assert (out / "artifacts" / "tables" / f"{name}.{ending}").read_text()
    assert (out / "artifacts" / "tables" / "h1-1-minilm.csv").read_text()
    for table in (out / "artifacts" / "tables").glob("*.csv"):
        with table.open() as file:
            names = next(csv.reader(file))
        assert len(set(names)) == len(names), table.name
        assert all(name and name == name.strip() for name in names), table.name
    record = RunFolder(out)
    ids = [RunFolder(run).id for run in runs]
    assert record.tags["kind"] == "comparison"
    assert sorted(record.tags["sources"].split(",")) == sorted(ids)
    with (out / "artifacts" / "tables" / "runs.csv").open() as file:
        assert sorted(row["id"] for row in csv.DictReader(file)) == sorted(ids)
    # Nothing of the runs has changed, and nothing is left beside the record.
    assert [path.name for path in tmp_path.iterdir()] == ["compared"]
    client = store.connect()
    copy = client.get_run(next(iter(read(out / "mlflow.json").values()))["run_id"])
    assert copy.info.status == "FINISHED"
    assert copy.data.tags["sources"] == record.tags["sources"]
    assert "H1 minilm" in copy.data.tags["mlflow.note.content"]
    kept = {entry.path for entry in client.list_artifacts(copy.info.run_id, "artifacts")}
    assert {"artifacts/report.html", "artifacts/verdicts.json"} <= kept


def test_tables_without_rows_are_left_out(tmp_path: Path) -> None:
    mask = np.arange(72).reshape(6, 12) < 36
    paths = [world.run(tmp_path / name, (name,), mask=mask).path for name in ("pos", "dep")]
    said = done("compare", *paths, "--out", tmp_path / "out").out
    assert "Training tasks together" not in said
    assert "**Pruning heads" in said
    assert "stem-cell heads minilm: Fewer than 4 tasks have single-task pruned runs." in said
    assert not list((tmp_path / "out" / "artifacts" / "tables").glob("joint.*"))


def test_the_page_needs_nothing_beside_it(runs: list[Path], tmp_path: Path) -> None:
    done("compare", *runs, "--out", tmp_path / "out", "--samples", 100, "--published")
    page = (tmp_path / "out" / "artifacts" / "report.html").read_text("utf-8")
    assert not re.search(r"(?:src|href)=|url\(|@import|<script", page)
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page
    # Labels are text, whatever they hold.
    assert "<b>" not in page
    assert "&lt;b&gt;&amp;amp;" not in page
    assert "&lt;b&gt;&amp;" in page
    assert page.count("<svg") > 30


def test_published_numbers_stand_beside_ours_and_faulty_ones_are_marked(tmp_path: Path) -> None:
    for encoder in ("bert", "roberta"):
        world.run(tmp_path / encoder, ("pos",), encoder=encoder, probes={"pos/train-split": {"NN": 0.5, "ODD": 0.5}})
    done("compare", tmp_path / "bert", tmp_path / "roberta", "--out", tmp_path / "out", "--published")
    tables = tmp_path / "out" / "artifacts" / "tables"
    text = (tables / "probes-pos-train-split-bert.md").read_text()
    assert "stl (published)" in text
    assert re.search(r"\| NN \| 40 \| 50\.00 \| – \| – \| 44\.11 \| 91\.44 ± 0\.89 \|", text)
    assert re.search(r"\| ODD \| 40 \| 50\.00 \| – \| – \| – \|", text)
    faulty = (tables / "probes-pos-train-split-roberta.md").read_text()
    assert "stl (published, faulty)" in faulty
    assert "hid <s>" in faulty


def test_another_comparison_is_replaced_only_if_that_is_asked_for(runs: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    done("compare", runs[0], "--out", out)
    before = RunFolder(out).id
    assert "already holds a finished run" in refused("compare", runs[0], "--out", out)
    done("compare", runs[0], "--out", out, "--overwrite")
    assert RunFolder(out).id != before
    other = tmp_path / "mine"
    other.mkdir()
    (other / "file").write_text("mine")
    assert "stays" in refused("compare", runs[0], "--out", other, "--overwrite")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_what_cannot_be_compared_writes_nothing(runs: list[Path], tmp_path: Path) -> None:
    other = world.run(tmp_path / "other", ("pos",), 3, corpus="0" * 60).path
    killed = world.run(tmp_path / "killed", ("pos",), 3, status="KILLED").path
    raw = world.run(tmp_path / "raw", ("pos",), 3, evaluated=False).path
    out = tmp_path / "out"
    for given, reason in (
        ([], "no runs: name"),
        ([runs[0], other], "different corpora"),
        ([runs[0], killed], "not finished"),
        ([runs[0], raw], "stemcell evaluate"),
        ([runs[0], "--split", "dev"], "stemcell evaluate"),
        ([runs[0], "--split", "tset"], "did you mean 'test'"),
        ([runs[0], "--margin", "nan"], "margin is nan"),
        ([tmp_path / "none"], "no such run folder"),
    ):
        assert reason in refused("compare", *given, "--out", out)
        assert not out.exists()


def test_a_comparison_is_no_run_to_compare(runs: list[Path], tmp_path: Path) -> None:
    done("compare", runs[0], "--out", tmp_path / "out")
    assert "a comparison, not a trained run" in refused("compare", tmp_path / "out", "--out", tmp_path / "again")


def test_runs_are_found_by_mlflows_filter(tmp_path: Path) -> None:
    for seed in (1, 2):
        sync(world.run(tmp_path / f"pos-{seed}", ("pos",), seed, experiment="by-filter"))
    sync(world.run(tmp_path / "ner", ("ner",), experiment="by-filter"))
    found = ("compare", "--experiment", "by-filter", "--out", tmp_path / "out", "--filter")
    done(*found, "params.tasks = 'pos'")
    rows = read(tmp_path / "out" / "tables" / "runs.json")["data"]
    assert [row[0] for row in rows] == ["pos-1", "pos-2"]
    assert "meets the filter" in refused(*found, "params.tasks = 'dep'", "--overwrite")
    assert "MLflow" in refused(*found, "nonsense ==", "--overwrite")
    assert "no experiment 'none'" in refused(
        *found[:1], "--experiment", "none", *found[3:], "params.a = 'b'", "--overwrite"
    )
    # What was there is whole.
    assert len(read(tmp_path / "out" / "tables" / "runs.json")["data"]) == 2


def test_a_full_disk_leaves_nothing(runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done("compare", runs[0], "--out", tmp_path / "out")
    before = snapshot(tmp_path / "out")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RunFolder, "set_status", full)
    assert "the disk is full" in refused("compare", runs[0], "--out", tmp_path / "out", "--overwrite")
    assert snapshot(tmp_path / "out") == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.slow
def test_stem_cell_heads_are_ablated(corpus: Path, tmp_path: Path) -> None:
    """A trained joint model, and made-up single-task runs that say which heads are kept."""
    for seed in (1, 2):
        done(
            "train", "--data", corpus, "--out", tmp_path / f"mtl-{seed}", "--encoder", "tiny-bert", "--epochs", 1,
            "--batch-sentences", 16, "--encoder-lr", "1e-3", "--seed", seed,
        )  # fmt: skip
        done("evaluate", tmp_path / f"mtl-{seed}")
    joint = RunFolder(tmp_path / "mtl-1")
    labels = json.loads((joint.path / "artifacts" / "labels.json").read_text())
    mask = np.zeros((4, 4), bool)
    mask[0, :2] = mask[2, 1] = True
    for task in LAYERS:
        for seed in (1, 2):
            path = tmp_path / f"{task}-{seed}"
            made = world.run(path, (task,), seed, mask=mask, labels=labels, corpus=joint.tags["corpus"],
                             encoder="tiny-bert")  # fmt: skip
            name = Path("artifacts") / "sentences" / "test.npz"
            with np.load(joint.path / name) as stored:
                np.savez(made.path / name, **{task: stored[task]})
    found = done(
        "compare", *(p for p in tmp_path.iterdir()), "--out", tmp_path / "out", "--ablate", 3, "--samples", 100
    )
    assert found.err.count("ablating 3 heads of mtl-") == 2
    with (tmp_path / "out" / "artifacts" / "tables" / "ablation-tiny-bert.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["task"] for row in rows] == [task.upper() for task in LAYERS]
    for row in rows:
        lost = float(row["loss without stem-cell heads"]) - float(row["loss without others"])
        assert lost == pytest.approx(float(row["further loss"]), abs=1e-6)
    assert any(float(row["loss without stem-cell heads"]) != 0 for row in rows)
    page = (tmp_path / "out" / "artifacts" / "report.html").read_text("utf-8")
    assert "Do all tasks lose more without these heads" in page
    assert "**Ablation of stem-cell heads" in found.out
    assert "stem-cell heads tiny-bert: 3 of 16: 1-1, 1-2, 3-2. Do all tasks lose more without" in found.out
    shutil.rmtree(tmp_path / "mtl-1" / "checkpoints")
    again = (
        "compare",
        *(tmp_path / f"{name}-1" for name in ("mtl", *LAYERS)),
        "--out",
        tmp_path / "more",
        "--ablate",
        1,
    )
    assert "no checkpoint 'best' here" in refused(*again)
    assert not (tmp_path / "more").exists()
