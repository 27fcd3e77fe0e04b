from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from stemcell.comparing.sources import expand, read_sources
from stemcell.errors import UserError
from stemcell.files import write_json
from stemcell.tracking import freshness, sentences
from stemcell.tracking.folder import RunFolder
from tests.comparing import world

MASK = np.eye(3, 4, dtype=bool)


def read(*names: Path, split: str = "test"):
    folders, notes = expand([str(name) for name in names])
    return read_sources(folders, split, notes)


def refused(*names: Path, split: str = "test") -> str:
    with pytest.raises(UserError) as error:
        read(*names, split=split)
    return str(error.value)


def test_models_are_named_and_in_order(tmp_path: Path) -> None:
    world.run(tmp_path / "e", seed=2)
    world.run(tmp_path / "d", seed=1)
    world.run(tmp_path / "c", ("srl", "ner"))
    world.run(tmp_path / "b", ("pos",), mask=MASK, gates="per-task")
    world.run(tmp_path / "a", ("pos",), mask=MASK)
    world.run(tmp_path / "s", ("pos",), mask=MASK, prune="static", from_run="x")
    world.run(tmp_path / "n", ("ner",))
    world.pretrained(tmp_path / "p", {"pos/train-split": {"A": 0.5}})
    found = read(*(tmp_path / name for name in "edcbasnp"))
    assert [(run.model, run.seed) for run in found.runs] == [
        ("pretrained", 0), ("NER", 1), ("POS-DP", 1), ("POS-DP-PER-TASK", 1), ("POS-SP", 1), ("NER+SRL", 1),
        ("MTL-5", 1), ("MTL-5", 2),
    ]  # fmt: skip
    assert list(found.of("minilm", "MTL-5")) == [1, 2]
    assert (found.of("minilm", "POS-DP")[1].masks["joint"] == MASK).all()
    assert found.tasks == ["pos", "ner", "dep", "con", "srl"]
    assert found.notes == []


def test_what_is_there_twice_counts_once_and_is_said(tmp_path: Path) -> None:
    one = world.run(tmp_path / "one", ("pos",))
    world.run(tmp_path / "again", ("pos",))
    shutil.copytree(one.path, tmp_path / "copy")
    found = read(tmp_path / "again", tmp_path / "one", tmp_path / "copy", tmp_path / "one")
    assert [run.name for run in found.runs] == ["one"]
    assert sum("is there twice" in note for note in found.notes) == 2
    assert found.notes[-1] == "again is left out: a run of the same configuration and seed is there."


def test_runs_that_cannot_be_compared(tmp_path: Path) -> None:
    world.run(tmp_path / "pos", ("pos",))
    world.run(tmp_path / "other", ("pos",), 2, corpus="0" * 60)
    world.run(tmp_path / "part", ("pos",), 2, train_limit=100)
    world.run(tmp_path / "shorter", ("pos",), 2, size=149)
    world.run(tmp_path / "labels", ("pos",), 2, labels={"pos": {"labels": ["A"]}})
    world.run(tmp_path / "epochs", ("pos",), 2, epochs=3)
    for name, reason in {
        "other": "different corpora",
        "part": "different train-limit",
        "shorter": "different sentences of pos in test",
        "labels": "different labels of pos",
        "epochs": "both POS of minilm, but with another epochs",
    }.items():
        message = refused(tmp_path / "pos", tmp_path / name)
        assert reason in message
        assert str(tmp_path / "pos") in message
        assert str(tmp_path / name) in message


def test_runs_that_are_not_ready(tmp_path: Path) -> None:
    world.run(tmp_path / "pos", ("pos",))
    world.run(tmp_path / "killed", ("ner",), status="KILLED")
    world.run(tmp_path / "raw", ("ner",), evaluated=False)
    assert re.search(r"not finished: \S+killed \(KILLED\); go on with", refused(tmp_path / "pos", tmp_path / "killed"))
    command = f"stemcell evaluate {tmp_path / 'raw'} --split test"
    assert command in refused(tmp_path / "pos", tmp_path / "raw")
    assert f"stemcell evaluate {tmp_path / 'pos'} --split dev" in refused(tmp_path / "pos", split="dev")
    assert "did you mean 'test'?" in refused(tmp_path / "pos", split="tset")
    assert "no finished runs to compare" in refused()
    assert "no such run folder" in refused(tmp_path / "nothing")
    folder = RunFolder.create(tmp_path / "sweep", {}, {"kind": "sweep"})
    folder.set_status("FINISHED")
    assert "a sweep, which is no model" in refused(tmp_path / "sweep")


def test_a_study_gives_what_it_has(tmp_path: Path) -> None:
    study = RunFolder.create(tmp_path / "study", {}, {"kind": "study"})
    rows = []
    for name, status in (("pos", "FINISHED"), ("ner", "KILLED")):
        own = world.run(study.path / name, (name,), status=status)
        rows.append([name, own.id, name, "minilm", name, "stl", 1, "finished" if name == "pos" else "interrupted"])
    rows.append(["dep", None, "dep", "minilm", "dep", "stl", 1, "waiting"])
    study.table("runs", ["name", "id", "folder", "encoder", "tasks", "mode", "seed", "state"], rows)
    found = read(study.path)
    assert [run.name for run in found.runs] == ["pos"]
    assert found.notes == ["dep of the study study is left out: it is waiting.", "ner is left out: it is KILLED."]
    # By its own name it is not left out in silence.
    assert "not finished" in refused(study.path, study.path / "ner")


def test_damage_is_named(tmp_path: Path) -> None:
    folder = world.run(tmp_path / "pos", ("pos",))
    folder.artifact("probe/test/samples.npz", b"PK no")
    assert "samples.npz: damaged" in refused(folder.path)


@pytest.mark.parametrize("results", ["evaluate", "probe"])
def test_results_of_weights_that_are_no_more_are_refused(tmp_path: Path, results: str) -> None:
    run = world.run(tmp_path / "pos", ("pos",), probes={"pos/train-split": {"A": 0.5}})
    write_json(run.path / "checkpoints" / "best.json", {"step": 10, "files": {"model.safetensors": "aa"}})
    for name in ("sentences-test", "probe-test"):
        freshness.mark(run, name)
    assert read(run.path).runs
    # The best epoch is another one after more training; a run that was not trained since, or in vain, stays as it was.
    write_json(run.path / "checkpoints" / "best.json", {"step": 20, "files": {"model.safetensors": "bb"}})
    freshness.mark(run, {"evaluate": "probe-test", "probe": "sentences-test"}[results])
    message = refused(run.path)
    assert message.endswith(f"make them again:\n  stemcell {results} {run.path} --split test")


def test_counts_of_other_weights_do_not_stay_beside_new_ones(tmp_path: Path) -> None:
    run = world.run(tmp_path / "pos", ("pos", "ner"))
    write_json(run.path / "checkpoints" / "best.json", {"step": 20, "files": {"model.safetensors": "bb"}})
    sentences.write(run, "test", {"pos": sentences.read(run, "test")["pos"]})
    assert set(sentences.read(run, "test")) == {"pos"}


def test_a_run_whose_process_is_gone_is_told_as_such(tmp_path: Path) -> None:
    world.run(tmp_path / "pos", ("pos",))
    world.run(tmp_path / "dead", ("ner",), status="RUNNING")
    assert f"{tmp_path / 'dead'} (KILLED: its process is gone" in refused(tmp_path / "pos", tmp_path / "dead")
