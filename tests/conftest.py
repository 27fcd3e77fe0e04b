"""Fixtures of all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real corpora and cases, for tests marked ``shared``; without it they are skipped."""
    folder = Path(os.environ.get("STEMCELL_SHARED") or Path(__file__).parents[2] / "shared")
    if not (folder / "cases").is_dir():
        pytest.skip("no shared folder: set STEMCELL_SHARED")
    return folder
