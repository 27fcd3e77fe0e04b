"""Processes of a study's own: what they return, how they die, and that none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stemcell.errors import UserError
from stemcell.studying.claims import Claim
from stemcell.studying.process import Child, call


def double(number: int) -> int:
    print("doubling")
    return 2 * number


def fail(text: str) -> None:
    raise UserError(text)


def break_down() -> None:
    raise RuntimeError("odd")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def claim_and_wait(folder: Path, name: str) -> bool:
    with Claim(folder, name) as claim:
        (folder / "here").write_text(str(claim.held))
        time.sleep(60)
    return claim.held


def test_a_function_is_run_elsewhere_and_its_value_comes_back(tmp_path: Path) -> None:
    child = Child(double, 21, log=tmp_path / "log")
    end = child.end()
    assert (end.state, end.value) == ("DONE", 42)
    assert (tmp_path / "log").read_text() == "doubling\n"


def test_what_goes_wrong_there_is_said_here(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^no such thing$"):
        call(fail, "no such thing")
    with pytest.raises(UserError, match=r"^RuntimeError: odd$"):
        call(break_down)
    with pytest.raises(UserError, match=r"killed.*SIGKILL"):
        call(die)


def test_one_that_is_told_to_stop_stops_and_frees_what_it_claimed(tmp_path: Path) -> None:
    child = Child(claim_and_wait, tmp_path, "run")
    _until((tmp_path / "here").exists)
    assert Claim(tmp_path, "run").taken()
    assert not Claim(tmp_path, "other").taken()
    child.stop()
    assert child.end().state == "STOPPED"
    assert not Claim(tmp_path, "run").taken()


def test_one_stops_when_whoever_started_it_is_killed(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from stemcell.studying.process import Child; "
        "from tests.studying.test_processes import claim_and_wait; "
        f"Child(claim_and_wait, Path({str(tmp_path)!r}), 'run').end()"
    )
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=root, env=environment)
    _until((tmp_path / "here").exists)
    assert Claim(tmp_path, "run").taken()
    parent.kill()
    parent.wait()
    _until(lambda: not Claim(tmp_path, "run").taken(), 10)


def test_a_failure_is_kept_until_it_is_forgotten(tmp_path: Path) -> None:
    with Claim(tmp_path, "run") as claim:
        claim.failed("train", "no memory")
    failure = Claim(tmp_path, "run").failure()
    assert failure is not None
    assert (failure.step, failure.reason) == ("train", "no memory")
    Claim(tmp_path, "run").clear()
    assert Claim(tmp_path, "run").failure() is None


def _until(holds: object, seconds: float = 60) -> None:
    assert callable(holds)
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
