"""What ``stemcell doctor`` finds."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stemcell import doctor
from stemcell.tracking.folder import RunFolder


def test_it_finds_what_every_run_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEMCELL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    checks = {check.what: check for check in doctor.examine()}
    assert not [check for check in checks.values() if check.state == "fails"]
    assert "TFLOP/s" in checks["cpu fp32"].details
    assert "HF_HUB_OFFLINE is set" in checks["model hub"].details
    assert checks["model hub"].state == "missing"
    # A run without MLflow loses nothing, so that is no reason to stop.
    assert (checks["MLflow"].state, "it does not answer" in checks["MLflow"].details) == ("missing", True)
    assert checks["run home"].details.startswith(str(tmp_path / "home"))
    assert list((tmp_path / "home").iterdir()) == []
    table = doctor.render(list(checks.values()))
    assert all(what in table for what in checks)


def test_a_home_that_cannot_be_written_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STEMCELL_HOME", str(tmp_path / "file" / "home"))
    (check,) = [check for check in doctor._stores() if check.what == "run home"]
    assert check.state == "fails"


def test_it_tells_what_killed_processes_have_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEMCELL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    script = """
import os, sys
from pathlib import Path
from stemcell.files import staged_folder
from stemcell.tracking.folder import RunFolder
folder = RunFolder.create(Path(sys.argv[1]) / "home" / "runs" / "dead", {}, {})
with staged_folder(Path(sys.argv[1]) / "export"):
    os.kill(os.getpid(), 9)
"""
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True)
    assert ended.returncode == -signal.SIGKILL
    alive = RunFolder.create(tmp_path / "home" / "runs" / "alive", {}, {})
    foreign = tmp_path / ".b.elsewhere.7-0.1.staged"
    foreign.mkdir()
    found = {check.details.split(",")[0]: check for check in doctor._abandoned()}
    alive.release()
    dead = tmp_path / "home" / "runs" / "dead"
    own, other, run = sorted(found.values(), key=lambda check: (check.what, "elsewhere" in check.details))
    assert f"half of {tmp_path / 'export'}" in own.details
    assert "(gone); the next write there removes it, or rm -r " in own.details
    assert f"on elsewhere; if that process is gone: rm -r {foreign}" in other.details
    assert run.details.startswith(f"{dead}: KILLED: its process is gone")
    assert run.details.endswith(f"stemcell train --resume {dead}")
    assert {check.state for check in found.values()} == {"look"}
