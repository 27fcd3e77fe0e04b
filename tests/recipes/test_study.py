"""`stemcell study`: each run once, whoever is killed or comes along, and a record of them all."""

from __future__ import annotations

import contextlib
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stemcell.encoders.names import TINY
from stemcell.tracking.folder import RunFolder, is_run
from tests.recipes.commands import (
    Process,
    Result,
    assert_same_weights,
    done,
    points,
    read,
    refused,
    snapshot,
    status,
    stemcell,
    steps_written,
)

pytestmark = pytest.mark.slow

GRID = """\
models:
  - tasks: [pos, mtl5]
  - tasks: [pos]
    modes: [sp, dp]
encoders: [tiny-bert]
train: {epochs: 2, batch_sentences: 16, encoder_lr: 1e-3}
modes:
  dp: {gate_lr: 0.5, l0_penalty: {pos: 0.03}}
  sp: {gate_lr: 0.5, l0_penalty: {pos: 0.03}}
after: [evaluate, export]
"""
NAMES = [f"tiny-bert-{model}-seed1" for model in ("pos", "mtl5", "pos-sp", "pos-dp")]
SMALL = "models:\n  - tasks: [pos, ner]\nencoders: [tiny-bert]\ntrain: {epochs: 1, batch_sentences: 32}\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text)
    return path


def rows(study: Path) -> list[dict[str, Any]]:
    table = read(study / "tables" / "runs.json")
    return [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]


def begun(result: Result) -> list[str]:
    """The runs that a command has begun, in order."""
    return [line.split("] ")[1].split(":")[0] for line in result.err.splitlines() if line.endswith(": running")]


def until(holds: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def made(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Result]:
    """A whole study: its file, its folder and what was said; for looking only."""
    folder = tmp_path_factory.mktemp("study")
    file = write(folder, GRID)
    result = done("study", file, "--data", corpus, "--out", folder / "out")
    return file, folder / "out" / "mine", result


@pytest.fixture
def copied(made: tuple[Path, Path, Result], tmp_path: Path) -> tuple[Path, Path]:
    """The same study, to be changed."""
    shutil.copytree(made[1], tmp_path / "out" / "mine")
    return shutil.copy(made[0], tmp_path / "mine.yaml"), tmp_path / "out" / "mine"


def test_runs_are_made_in_order_with_what_comes_after(made: tuple[Path, Path, Result]) -> None:
    _, study, result = made
    assert begun(result) == NAMES
    assert [row["name"] for row in rows(study)] == NAMES
    assert {row["state"] for row in rows(study)} == {"finished"}
    for row in rows(study):
        run = RunFolder(study / row["folder"])
        assert (row["id"], run.record["parent"]) == (run.id, RunFolder(study).id)
        assert (row["tasks"], row["mode"]) == (run.tags["tasks"], run.tags["mode"])
        assert status(run.path) == "FINISHED"
        assert any(name.startswith("final/test/pos/") for name, _ in points(run.path, ["results.jsonl"]))
        assert (run.path / "export" / "export.json").exists() == (run.config["prune"] != "no")
    assert RunFolder(study / NAMES[2]).config["from_run"] == str(study / NAMES[0])
    assert (status(study), RunFolder(study).tags["kind"]) == ("FINISHED", "study")


def test_the_study_is_the_parent_of_its_runs_in_mlflow(made: tuple[Path, Path, Result]) -> None:
    from stemcell.tracking import store

    client = store.connect()
    experiment = store.experiment(client, "stemcell")
    own = {run.data.tags["stemcell.folder"]: run for run in client.search_runs([experiment])}
    parent = own[str(made[1])]
    assert parent.info.status == "FINISHED"
    for name in NAMES:
        assert own[str(made[1] / name)].data.tags["mlflow.parentRunId"] == parent.info.run_id


def test_the_study_is_the_parent_of_its_probes_too(corpus: Path, tmp_path: Path) -> None:
    from stemcell.tracking import store

    file = write(
        tmp_path, SMALL.replace("[pos, ner]", "[pos]") + "after: [probe]\npretrained: true\nexperiment: heads\n"
    )
    done("study", file, "--data", corpus, "--out", tmp_path / "out")
    client = store.connect()
    copies = client.search_runs([store.experiment(client, "heads")])
    own = {Path(run.data.tags["stemcell.folder"]).name: run for run in copies}
    assert own.keys() == {"mine", "tiny-bert-pretrained", "tiny-bert-pos-seed1"}
    for name in ("tiny-bert-pretrained", "tiny-bert-pos-seed1"):
        assert own[name].data.tags["mlflow.parentRunId"] == own["mine"].info.run_id


def test_the_same_command_again_does_nothing(copied: tuple[Path, Path], corpus: Path) -> None:
    file, study = copied
    before = {name: snapshot(study / name) for name in NAMES}
    result = done("study", file, "--data", corpus, "--out", study.parent)
    assert begun(result) == []
    assert {name: snapshot(study / name) for name in NAMES} == before
    assert [row["state"] for row in rows(study)] == ["finished"] * 4


def test_a_step_that_is_missing_is_made_up_for(copied: tuple[Path, Path], corpus: Path) -> None:
    file, study = copied
    (study / NAMES[1] / "artifacts" / "sentences" / "test.npz").unlink()
    shutil.rmtree(study / NAMES[3] / "export")
    steps = {name: (study / name / "metrics.jsonl").read_bytes() for name in NAMES}
    assert begun(done("study", file, "--data", corpus, "--out", study.parent)) == [NAMES[1], NAMES[3]]
    assert (study / NAMES[1] / "artifacts" / "sentences" / "test.npz").exists()
    assert (study / NAMES[3] / "export" / "export.json").exists()
    assert {name: (study / name / "metrics.jsonl").read_bytes() for name in NAMES} == steps


def test_more_seeds_are_added_and_fewer_take_nothing_away(copied: tuple[Path, Path], corpus: Path) -> None:
    file, study = copied
    arguments = ("study", file, "--data", corpus, "--out", study.parent)
    shown = done(*arguments, "--seeds", "1,2", "--dry-run").out
    assert shown.count("finished") == 4 + 1
    assert shown.count("waiting") == 4 + 1
    second = [name.replace("seed1", "seed2") for name in NAMES]
    assert not (study / second[0]).exists()
    assert begun(done(*arguments, "--seeds", "2")) == second
    assert [row["name"] for row in rows(study)] == [*second, *NAMES]
    assert {row["state"] for row in rows(study)} == {"finished"}
    assert RunFolder(study).config["seeds"] == [1, 2]


def test_a_run_that_is_there_is_taken_over(corpus: Path, tmp_path: Path) -> None:
    file, study = write(tmp_path, SMALL), tmp_path / "out" / "mine"
    run = study / "tiny-bert-pos-seed1"
    own = ("--data", corpus, "--encoder", "tiny-bert", "--tasks", "pos", "--epochs", 1, "--out", run)
    done("train", *own, "--batch-sentences", 16)
    before = snapshot(run)
    said = refused("study", file, "--data", corpus, "--out", study.parent)
    assert f"{run}: holds another run: batch_sentences is 16 there and 32 in the study" in said
    assert snapshot(run) == before
    assert not is_run(study)
    done("train", *own, "--batch-sentences", 32, "--overwrite")
    before = snapshot(run)
    assert begun(done("study", file, "--data", corpus, "--out", study.parent)) == ["tiny-bert-ner-seed1"]
    assert snapshot(run) == before
    assert rows(study)[0]["id"] == RunFolder(run).id
    assert RunFolder(run).record["parent"] is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("dp: {gate_lr: 0.5", "dp: {gate_lr: 0.4", "dp.gate_lr was 0.5 and is 0.4"),
        ("[pos, mtl5]", "[pos]", "models was pos, mtl5, pos-sp, pos-dp and is pos, pos-sp, pos-dp"),
        ("epochs: 2", "epochs: 3", "epochs was 2 and is 3"),
        (", encoder_lr: 1e-3", "", "encoder_lr was 0.001 and is not set"),
    ],
)  # fmt: skip
def test_another_study_of_the_name_is_refused(
    made: tuple[Path, Path, Result], corpus: Path, tmp_path: Path, old: str, new: str, said: str
) -> None:
    before = snapshot(made[1])
    file = write(tmp_path, GRID.replace(old, new))
    assert said in refused("study", file, "--data", corpus, "--out", made[1].parent)
    assert said in refused("study", file, "--data", corpus, "--out", made[1].parent, "--dry-run")
    assert snapshot(made[1]) == before


def test_runs_that_cannot_prune_are_told_and_a_study_of_nothing_else_is_refused(corpus: Path, tmp_path: Path) -> None:
    text = (
        GRID.replace("[pos, mtl5]", "[pos]").replace("epochs: 2", "epochs: 1").replace("after: [evaluate, export]", "")
    )
    text = text.replace("gate_lr: 0.5", "gate_lr: 0.001")
    said = refused("study", write(tmp_path, text), "--data", corpus, "--out", tmp_path / "out")
    assert "none of this study's 2 pruned runs would prune: tiny-bert-pos-sp-seed1: no gate can close: 4 steps" in said
    assert not (tmp_path / "out").exists()
    text = text.replace("sp: {gate_lr: 0.001", "sp: {gate_lr: 1.0")
    err = done("study", write(tmp_path, text), "--data", corpus, "--out", tmp_path / "out").err
    assert err.count("WARNING: tiny-bert-pos-dp-seed1: no gate can close") == 1
    assert "WARNING: tiny-bert-pos-sp" not in err


def test_a_corpus_that_has_changed_is_refused(made: tuple[Path, Path, Result], corpus: Path, tmp_path: Path) -> None:
    shutil.copytree(corpus, tmp_path / "moved")
    assert begun(done("study", made[0], "--data", tmp_path / "moved", "--out", made[1].parent)) == []
    tags = next((tmp_path / "moved").rglob("train.ner.tsv"))
    tags.write_text(tags.read_text().replace("B-PER", "B-ORG", 1))
    before = snapshot(made[1])
    assert "the corpus is not the one" in refused(
        "study", made[0], "--data", tmp_path / "moved", "--out", made[1].parent
    )
    assert snapshot(made[1]) == before


def test_what_is_in_the_way_stays(corpus: Path, trained: Path, tmp_path: Path) -> None:
    file = write(tmp_path, SMALL)
    (tmp_path / "out" / "mine").mkdir(parents=True)
    (tmp_path / "out" / "mine" / "notes.txt").write_text("mine")
    assert "not a run folder, so it stays" in refused("study", file, "--data", corpus, "--out", tmp_path / "out")
    assert (tmp_path / "out" / "mine" / "notes.txt").read_text() == "mine"
    shutil.copytree(trained, tmp_path / "other" / "mine")
    assert "holds a run that is no study" in refused("study", file, "--data", corpus, "--out", tmp_path / "other")
    assert "no corpus: give --data" in refused("study", file, "--out", tmp_path / "third")


def test_a_failed_run_is_told_and_the_rest_goes_on(corpus: Path, tmp_path: Path) -> None:
    text = SMALL.replace("[pos, ner]", "[pos]\n    modes: [plain, sp]\n  - tasks: [ner]")
    text = text.replace("epochs: 1", "epochs: 1, encoder_lr: 1e-3") + "\nmodes:\n  sp: {gate_lr: 5.0}\n"
    file, study = write(tmp_path, text), tmp_path / "out" / "mine"
    arguments = ("study", file, "--data", corpus, "--out", study.parent, "--seeds", 1)
    done(*arguments[:-1], 2)
    with _in_the_way(study / "tiny-bert-pos-seed1"):
        result = stemcell(*arguments)
        assert result.code == 1
        assert "2 of the study's runs failed" in result.err
        assert "which it starts from, failed" in result.err
        assert [row["state"] for row in rows(study)] == ["failed", "failed", "finished"] + ["finished"] * 3
        failures = read(study / "tables" / "failures.json")["data"]
        assert [row[0] for row in failures] == ["tiny-bert-pos-seed1", "tiny-bert-pos-sp-seed1"]
        assert "already there and not a run folder" in failures[0][2]
        assert status(study) == "FAILED"
    result = done(*arguments)
    assert begun(result) == ["tiny-bert-pos-seed1", "tiny-bert-pos-sp-seed1"]
    assert {row["state"] for row in rows(study)} == {"finished"}
    assert read(study / "tables" / "failures.json")["data"] == []


def test_mlflow_may_be_away(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, SMALL.replace("[pos, ner]", "[pos]"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    result = done("study", file, "--data", corpus, "--out", tmp_path / "out")
    assert "the study goes on" in result.err
    assert rows(tmp_path / "out" / "mine")[0]["state"] == "finished"
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    study = tmp_path / "out" / "mine"
    done("sync", study, study / "tiny-bert-pos-seed1")
    from stemcell.tracking.store import folder_of

    (copy,) = [part["run_id"] for part in read(study / "mlflow.json").values()]
    assert folder_of(copy).path == study


LONG = SMALL.replace("epochs: 1", "epochs: 12").replace("batch_sentences: 32", "batch_sentences: 4")


@pytest.fixture(scope="module")
def uninterrupted(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study's first run, trained by itself; for looking only."""
    run = tmp_path_factory.mktemp("uninterrupted") / "run"
    sizes = ("--epochs", 12, "--batch-sentences", 4)
    done("train", "--data", corpus, "--encoder", "tiny-bert", "--tasks", "pos", *sizes, "--out", run)
    return run


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        signal.SIGTERM,
        pytest.param(signal.SIGINT, marks=pytest.mark.nightly),
        pytest.param(signal.SIGHUP, marks=pytest.mark.nightly),
    ],
)
def test_it_goes_on_where_it_was_stopped(
    corpus: Path, uninterrupted: Path, tmp_path: Path, number: signal.Signals
) -> None:
    file, study = write(tmp_path, LONG), tmp_path / "out" / "mine"
    run = study / "tiny-bert-pos-seed1"
    arguments = ("study", file, "--data", corpus, "--out", study.parent)
    stopped = Process(*arguments).when(lambda: is_run(run) and steps_written(run) >= 20).send(number)
    assert stopped.code == (-number if number == signal.SIGKILL else 128 + number)
    # The run itself has ended too, and saved itself.
    until(lambda: status(run) == "KILLED")
    seen = steps_written(run)
    assert (run / "checkpoints" / "last.json").exists()
    assert RunFolder(study).status().status == "KILLED"
    identity = RunFolder(run).id
    assert begun(done(*arguments)) == ["tiny-bert-pos-seed1", "tiny-bert-ner-seed1"]
    assert RunFolder(run).id == identity
    assert seen < 12 * 15
    # Every loss, rate and score is the one that it would have been.
    assert points(run) == points(uninterrupted)
    assert_same_weights(run, uninterrupted, "last")
    assert {row["state"] for row in rows(study)} == {"finished"}


def test_two_commands_and_four_workers_make_each_run_once(corpus: Path, tmp_path: Path) -> None:
    text = SMALL.replace("[pos, ner]", "[stl]") + "seeds: [1, 2]\n"
    file, study = write(tmp_path, text), tmp_path / "out" / "mine"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEMCELL_HOME", str(tmp_path / "home"))
        both = [Process("study", file, "--data", corpus, "--out", study.parent, "--workers", 2) for _ in range(2)]
        results = [process.wait() for process in both]
        assert [result.code for result in results] == [0, 0], results
        begins = Counter(name for result in results for name in begun(result))
        finished = Counter(
            line.split("] ")[1].split(":")[0]
            for result in results
            for line in result.err.splitlines()
            if ": finished" in line
        )
        from stemcell.tracking import store

        client = store.connect()
        copies = client.search_runs([store.experiment(client, "stemcell")])
    assert len(rows(study)) == 10
    assert {row["state"] for row in rows(study)} == {"finished"}
    assert set(begins) == set(finished) == {row["name"] for row in rows(study)}
    for row in rows(study):
        assert len(RunFolder(study / row["name"]).record["resumed"]) == 0
        points(study / row["name"])
    assert Counter(run.data.tags["stemcell.folder"] for run in copies) == Counter(
        [str(study), *(str(study / row["name"]) for row in rows(study))]
    )
    assert status(study) == "FINISHED"


def test_all_encoders_make_a_study(across: Path) -> None:
    found = Counter((row["encoder"], row["mode"], row["state"]) for row in rows(across))
    assert found == Counter(
        {
            (encoder, mode, "finished"): count
            for encoder in TINY
            for mode, count in (("stl", 2), ("mtl-2", 1), ("stl-dp", 1))
        }
    )
    assert all((across / row["folder"] / "tables" / "scores" / "test.json").exists() for row in rows(across))


def test_plain_words_for_flags_that_are_wrong(corpus: Path, tmp_path: Path) -> None:
    file = write(tmp_path, SMALL)
    assert "--seeds is 'one'" in refused("study", file, "--seeds", "one")
    assert "did you mean 'tiny-bert'" in refused("study", file, "--encoder", "tiny-brt")
    assert "did you mean 'stl-mtl'" in refused("study", "stl-mlt")
    assert "did you mean 'small'" in refused("study", "stl-mtl", "--size", "smal")
    assert "no such" in refused("study", file, "--data", tmp_path / "none", "--out", tmp_path / "out").lower()
    assert not (tmp_path / "out").exists()


class _in_the_way(contextlib.ContextDecorator):
    """A folder that is no run, where a run is to be."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        self._folder.mkdir()
        (self._folder / "notes.txt").write_text("mine")

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self._folder)
