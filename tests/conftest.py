"""Fixtures of all tests."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A machine under load is slow, not wrong.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

# Under nohup processes started here would ignore hangups.
with contextlib.suppress(ValueError):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

LONG = ("recipes/test_sweep", "recipes/test_study.py", "recipes/", "test_readme.py")
"""Files by their beginning, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first: processes that share the tests by files then end at about the same time."""

    def place(item: pytest.Item) -> int:
        name = item.path.relative_to(Path(__file__).parent).as_posix()
        return next((number for number, start in enumerate(LONG) if name.startswith(start)), len(LONG))

    items.sort(key=place)


@pytest.fixture(scope="session", autouse=True)
def run_home_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test writes into the user's home or to the user's MLflow."""
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("stemcell")
        patch.setenv("STEMCELL_HOME", str(home))
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield home


@pytest.fixture(scope="session", autouse=True)
def one_thread(request: pytest.FixtureRequest) -> Iterator[None]:
    """Small models gain nothing from threads, which wait for each other where processes share cores."""
    import torch

    if any(item.get_closest_marker("benchmark") for item in request.session.items):
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real corpora and cases, for tests marked ``shared``; without it they are skipped."""
    folder = Path(os.environ.get("STEMCELL_SHARED") or Path(__file__).parents[2] / "shared")
    if not (folder / "cases").is_dir():
        pytest.skip("no shared folder: set STEMCELL_SHARED")
    return folder
