"""A small corpus with all five layers, and a run trained on it, both made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.recipes.commands import done
from tests.recipes.sweeps import SIZES

TRAINED = ("--encoder", "tiny-bert", "--epochs", "2", "--batch-sentences", "8", "--encoder-lr", "1e-3")


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """However busy the machine, a run's end waits until MLflow has everything."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stemcell.tracking.mirror.FAREWELL", 300.0)
        yield


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60, 21 and 19 sentences."""
    from stemcell.corpora.demo import write_demo

    folder = tmp_path_factory.mktemp("corpus") / "demo"
    write_demo(folder, sizes=(60, 21, 19))
    return folder


@pytest.fixture(scope="session")
def trained(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of all five tasks, scored on test; for looking only."""
    run = tmp_path_factory.mktemp("runs") / "mtl5"
    done("train", "--data", corpus, "--out", run, *TRAINED)
    done("evaluate", run)
    return run


@pytest.fixture(scope="session")
def across(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study over the four tiny encoders: the runs that a comparison across encoders is of; to look at."""
    folder = tmp_path_factory.mktemp("studies")
    file = Path(__file__).with_name("across.yaml")
    done("study", file, "--data", corpus, "--out", folder, "--workers", 2)
    return folder / "across"


@pytest.fixture
def sweep(corpus: Path, tmp_path: Path) -> list[Any]:
    """A sweep of four trials; the command, less its name."""
    return ["sweep", "--data", corpus, *SIZES, "--epochs", 2, "--gate-lr", 0.5, "--trials", 4, "--out", tmp_path / "s"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "s"
