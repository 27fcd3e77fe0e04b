"""Run folders: made, found, never lost."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stemcell.errors import UserError
from stemcell.tracking.folder import RunFolder, find_run

CONFIG = {"encoder": "tiny-bert", "tasks": ["pos"], "epochs": 3, "srl_decoder": "graph"}


def made(path: Path, status: str = "FINISHED") -> RunFolder:
    run = RunFolder.create(path, CONFIG, {"encoder": "tiny-bert"})
    if status != "RUNNING":
        run.set_status(status)
    run.release()
    return RunFolder(path)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    assert run.config == CONFIG
    assert run.tags == {"encoder": "tiny-bert"}
    assert run.status().status == "FINISHED"
    run.table("scores/dev-epoch-001", ["label", "f1"], [["WP$", 0.5], ["``", float("nan")], [",", 1]])
    run.table("scores/dev-epoch-001", ["label", "f1"], [["WP$", 0.5], ["``", float("nan")], [",", 1]])
    assert run.read_table("scores/dev-epoch-001") == (["label", "f1"], [["WP$", 0.5], ["``", "nan"], [",", 1]])
    run.artifact("labels.json", {"pos": ["``"]})
    assert json.loads((run.path / "artifacts" / "labels.json").read_text()) == {"pos": ["``"]}
    with pytest.raises(ValueError, match="under tables"):
        run.table("../run", [], [])


def test_a_folder_may_be_named_by_way_of_another(tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    run = made(tmp_path / "beside" / ".." / "run")
    run.table("scores", ["f1"], [[1.0]])
    run.artifact("gates/labels.json", {})
    assert run.read_table("scores") == (["f1"], [[1.0]])
    assert (tmp_path / "run" / "artifacts" / "gates" / "labels.json").is_file()
    with pytest.raises(ValueError, match="under tables"):
        run.table("../run", [], [])


def test_a_resume_notes_what_it_changes(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    run.note_changes(CONFIG)
    run.note_changes({**CONFIG, "epochs": 5})
    run.note_changes({**CONFIG, "epochs": 5})
    again = RunFolder(run.path)
    assert again.config == {**CONFIG, "epochs": 5}
    assert again.record["config"] == CONFIG
    assert len(again.record["resumed"]) == 1


@pytest.mark.parametrize(("status", "said"), [("FINISHED", "a finished run"), ("RUNNING", "an unfinished run")])
def test_a_run_that_is_there_is_replaced_only_when_told(tmp_path: Path, status: str, said: str) -> None:
    old = made(tmp_path / "run", status)
    with pytest.raises(UserError, match=f"{said}.*--resume.*--overwrite"):
        RunFolder.create(old.path, CONFIG, {})
    assert RunFolder(old.path).id == old.id
    new = RunFolder.create(old.path, CONFIG, {}, overwrite=True)
    assert new.id != old.id
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]


def test_what_is_no_run_is_never_touched(tmp_path: Path) -> None:
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "thesis.tex").write_text("all of it")
    for path in (folder, folder / "thesis.tex"):
        with pytest.raises(UserError, match="not a run folder, so it stays"):
            RunFolder.create(path, CONFIG, {}, overwrite=True)
    assert (folder / "thesis.tex").read_text() == "all of it"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert RunFolder.create(empty, CONFIG, {}).path == empty


def test_one_writer_a_run_and_the_killed_are_known(tmp_path: Path) -> None:
    path = tmp_path / "run"
    code = (
        "import sys, time; from pathlib import Path; from stemcell.tracking.folder import RunFolder\n"
        "run = RunFolder.create(Path(sys.argv[1]), {}, {}); print('made', flush=True); time.sleep(60)"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    try:
        assert writer.stdout.readline() == b"made\n"
        run = RunFolder(path)
        assert run.status().status == "RUNNING"
        with pytest.raises(UserError, match="another process"):
            run.hold()
        with pytest.raises(UserError, match="another process"):
            RunFolder.create(path, CONFIG, {}, overwrite=True)
    finally:
        writer.kill()
        writer.wait()
    assert RunFolder(path).status().status == "KILLED"
    assert "killed" in RunFolder(path).status().reason
    assert RunFolder(path).hold().status().status == "RUNNING"


def test_runs_are_found_by_folder_or_name(tmp_path: Path, run_home: Path) -> None:
    made(run_home / "runs" / "bert-pos-seed1")
    made(tmp_path / "other")
    assert find_run("bert-pos-seed1").path == run_home / "runs" / "bert-pos-seed1"
    assert find_run(str(tmp_path / "other")).path == tmp_path / "other"
    with pytest.raises(UserError, match="did you mean bert-pos-seed1"):
        find_run("bert-pos-sed1")
    with pytest.raises(UserError, match="not a run folder"):
        find_run(str(tmp_path))
    with pytest.raises(UserError, match=r"MLflow at sqlite.*not found"):
        find_run("0" * 32)


def test_damaged_runs_and_those_of_other_versions_are_refused(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    (run.path / "run.json").write_text('{"format": 99}')
    with pytest.raises(UserError, match="run format 99"):
        RunFolder(run.path)
    (run.path / "run.json").write_text('{\n"format": 1,\n')
    with pytest.raises(UserError, match=r"run\.json:\d: damaged"):
        RunFolder(run.path)
    for content in ("[]", "null", "{}", '{"format": 1}', '{"format": 1, "id": "x", "tags": 1}'):
        (run.path / "run.json").write_text(content)
        with pytest.raises(UserError, match=r"run\.json: damaged"):
            RunFolder(run.path)


@pytest.mark.parametrize("content", ["[]", "null", "{}", '{"state": 1}'])
def test_a_damaged_status_is_named(tmp_path: Path, content: str) -> None:
    run = made(tmp_path / "run")
    (run.path / "status.json").write_text(content)
    with pytest.raises(UserError, match=r"status\.json: damaged"):
        run.status()
    with pytest.raises(UserError, match=r"status\.json: damaged"):
        run.set_status("FINISHED")


def test_a_run_that_cannot_be_made_leaves_its_place_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.replace

    def full(source: Path, target: Path) -> None:
        if Path(target).name == "run.json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(UserError, match="the disk is full"):
            RunFolder.create(tmp_path / "run", CONFIG, {})
    made(tmp_path / "run")


def test_of_two_that_make_a_run_at_once_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first: list[RunFolder] = []
    real = RunFolder.check_free

    def overtaken(path: Path, overwrite: bool = False, around: bool = False) -> None:
        real(path, overwrite)
        if not first:
            # The other one makes it after this one has looked.
            first.append(None)  # type: ignore[arg-type]
            first[0] = RunFolder.create(path, CONFIG, {"encoder": "first"})

    monkeypatch.setattr(RunFolder, "check_free", staticmethod(overtaken))
    with pytest.raises(UserError, match="another process is writing this run"):
        RunFolder.create(tmp_path / "run", CONFIG, {"encoder": "second"})
    assert RunFolder(tmp_path / "run").id == first[0].id


def test_results_are_noted_once_unless_they_change(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    for scores in ({"pos/accuracy": 0.5}, {"pos/accuracy": 0.5}, {"pos/accuracy": 0.75}):
        run.result("test", scores)
    entries = [(entry.step, entry.metrics) for entry in run.history("results.jsonl")]
    assert entries == [(1, {"final/test/pos/accuracy": 0.5}), (2, {"final/test/pos/accuracy": 0.75})]


def test_importing_it_is_cheap() -> None:
    """The command line answers at once, so nothing here may import the large packages."""
    code = (
        "import sys; import stemcell.tracking.folder, stemcell.tracking.tracker, stemcell.tracking.sync\n"
        "assert not {'torch', 'mlflow', 'pandas', 'numpy', 'sqlalchemy'} & set(sys.modules)"
    )
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", code], check=True)
    assert time.monotonic() - start < 5
