"""The help of every command has examples, and they run, one after another in one folder."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from stemcell.cli.main import app
from stemcell.corpora.demo import write_demo
from tests.recipes.commands import done
from tests.test_readme import arguments, parse

NOT_RUN = {
    "stemcell train --encoder minilm": "needs that corpus",
    "accelerate launch": "needs GPUs",
    "stemcell sweep --encoder deberta": "needs the hub's weights",
    "stemcell sweep pareto": "takes hours",
    "stemcell sweep my.yaml": "needs a database server",
    "stemcell sweep --encoder roberta": "needs GPUs, and the hub's weights",
    "stemcell study stl-mtl": "takes minutes; tests/recipes/test_study.py makes smaller ones",
    "stemcell study pruning": "needs that corpus",
    "stemcell probe minilm": "needs that corpus",
    "stemcell compare studies/small": "needs that study; tests/recipes/test_compare.py has runs that are made up",
    "stemcell compare --filter": "needs such runs; likewise",
    "stemcell data ewt": "needs the network, or the repositories",
    "stemcell data ontonotes": "needs a release of OntoNotes",
    "MLFLOW_TRACKING_URI": "needs a server",
    "stemcell ui": "serves until it is stopped",
}
"""Examples by their beginning, and why they are parsed only."""
STUDY = "models:\n  - tasks: [pos]\nencoders: [tiny-bert]\ndemo: [9, 3, 3]\n"


def commands(group: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """All commands that do something, by their names, groups' parts included."""
    for own, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name}{own} ")
        else:
            yield f"{name}{own}", command


COMMANDS = dict(commands(typer.main.get_command(app)))
EXAMPLES = {name: re.findall(r"^- `(.*)`$", command.help, re.MULTILINE) for name, command in COMMANDS.items()}
ALL = [example for examples in EXAMPLES.values() for example in examples]


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_command_has_an_example_of_its_own_which_parses(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert EXAMPLES[name]
    assert "\n\nExamples:\n\n- `" in COMMANDS[name].help, "one form in all of them"
    for example in EXAMPLES[name]:
        given = arguments(example.rpartition("=")[2].partition(" ")[2] if example.startswith("MLFLOW") else example)
        assert given is not None
        assert " ".join(given).startswith(name)
        parse(given)


def test_what_is_not_run_is_there() -> None:
    assert [start for start in NOT_RUN if not any(example.startswith(start) for example in ALL)] == []
    ran = [name for name, examples in EXAMPLES.items() if not all(e.startswith(tuple(NOT_RUN)) for e in examples)]
    assert set(EXAMPLES) - set(ran) == {"ui", "data ewt", "data ontonotes"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working folder meanwhile, with all that the examples speak of."""
    folder = tmp_path_factory.mktemp("examples")
    with contextlib.chdir(folder):
        write_demo(Path("demo"), sizes=(24, 8, 8))
        Path("mine.yaml").write_text(STUDY)
        Path("sentences.txt").write_text("Mary saw the man.\n")
        small = ("train", "--data", "demo", "--encoder", "tiny-bert", "--epochs", 1, "--batch-sentences", 8)
        done(*small, "--out", "runs/mtl5")
        done(*small, "--tasks", "pos", "--prune", "dynamic", "--gate-lr", 1, "--l0-penalty", 1, "--out", "runs/pos-dp")
        for run in ("runs/mtl5", "runs/pos-dp"):
            done("evaluate", run)
        yield folder


@pytest.mark.slow
@pytest.mark.parametrize("example", [example for example in ALL if not example.startswith(tuple(NOT_RUN))])
def test_examples_run(example: str, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if example.startswith("stemcell data demo"):
        monkeypatch.chdir(tmp_path)  # the place has a smaller corpus of that name
    piped = re.match('echo "(.*)" [|]', example)
    words = [
        part
        for word in (arguments(example) or [])
        for part in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
    ]
    result = done(*words, stdin=f"{piped[1]}\n" if piped else "")
    assert result.out.strip() or "--out" in words, "it says or writes something"
    if "--out" in words:
        assert Path(words[words.index("--out") + 1]).exists()
