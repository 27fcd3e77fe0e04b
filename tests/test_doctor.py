"""What ``stemcell doctor`` finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from stemcell import doctor


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
