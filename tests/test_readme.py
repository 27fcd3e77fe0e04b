"""What the README and docs/ say holds: commands run, or at least parse, and tables are those of the code."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stemcell.cli.main import app
from stemcell.cli.options import resolve
from stemcell.config import FIELDS, flag, from_dict
from stemcell.corpora import folder as folders
from stemcell.encoders import names
from stemcell.studying.reading import read_study
from stemcell.tasks import NAMES as TASKS
from stemcell.tasks import task as find_task
from tests.recipes.commands import Result, points, stemcell

ROOT = Path(__file__).parents[1]
ORDER = ("training", "pruning", "probing", "sweeps-and-studies", "comparing", "formats", "tracking", "results")
"""Documents after the README, in the order in which their commands run."""
PAGES = dict.fromkeys([ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in ORDER), *ROOT.glob("docs/*.md")])
TEXT = "\n".join(page.read_text("utf-8") for page in PAGES)

NOT_RUN = {
    "make": "this is part of it",
    "pip": "installs; the exact versions are tested with the packaging",
    "stemcell train --data ewt": "needs that corpus, and the hub's weights",
    "stemcell train --config": "needs that corpus, and the hub's weights",
    "accelerate launch": "needs GPUs",
    "stemcell sweep --encoder deberta": "needs the hub's weights",
    "stemcell ui": "serves until it is stopped",
    "stemcell data ewt": "needs the network, or the repositories",
    "stemcell data ontonotes": "needs a release of OntoNotes",
    "java": "needs Stanford's parser",
    "stemcell study stl-mtl --workers 2": "takes minutes; tests/recipes/test_study.py makes smaller ones",
    "stemcell study pruning": "needs that corpus",
    "stemcell study probes": "needs that corpus, and the hub's weights",
    "stemcell study sweeps": "needs that corpus; tests/studying/test_reading.py reads the studies",
    "stemcell compare studies": "needs those studies; tests/recipes/test_compare.py has runs that are made up",
    "stemcell compare --filter": "needs such runs; likewise",
}
"""Commands by their beginning, and why they are not run here."""
TOLD = (Path("runs/mtl5"), Path("runs/pos-dp"))
"""Runs that have, between them, all that a run can have."""


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """All commands, one a line, in order; what several pages say is there once."""
    return list(dict.fromkeys(line for block in blocks("sh") for line in block.splitlines()))


def is_run(command: str) -> bool:
    return not command.startswith(tuple(NOT_RUN))


def arguments(command: str) -> list[str] | None:
    """What a command line gives to stemcell, however it is started; None if it is another program's."""
    words = shlex.split(command, comments=True)
    if "stemcell" not in words:
        return None
    place = words.index("stemcell")
    assert place == 0 or words[place - 1] in ("-m", "|"), command
    return words[place + 1 :]


def parse(given: list[str]) -> dict[str, Any]:
    """The parameters of a command as the command line understands them."""
    import typer

    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command, given = command.commands[given[0]], given[1:]
    return dict(command.make_context("stemcell", list(given)).params)


def table(heading: str, number: int = 0) -> list[list[str]]:
    """The cells of the tables below a heading, without the head row."""
    part = re.split(r"^#", TEXT.split(f"{heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    tables = re.findall(r"(?:^\|.*\n)+", part, re.MULTILINE)
    return [
        [cell.strip() for cell in row.strip().strip("|").split("|")] for row in tables[number].strip().splitlines()[2:]
    ]


def coded(cell: str) -> list[str]:
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def test_every_command_parses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (config,) = blocks("yaml")
    Path("con-srl.yaml").write_text(config)
    parsed = [parse(given) for command in commands() if (given := arguments(command)) is not None]
    trained = [parameters for parameters in parsed if "decoder_lr" in parameters]
    for parameters in trained:
        flags = {name: parameters[name] for name in FIELDS if parameters[name] is not None}
        resolve(flags, parameters.get("config"))
    assert len(parsed) > 15
    assert len(trained) > 6
    with pytest.raises(Exception, match="No such option"):
        parse(["train", "--epoch", "3"])


def test_commands_of_others_are_there() -> None:
    others = [shlex.split(c, comments=True) for c in commands() if arguments(c) is None]
    targets = [words[1] for words in others if words[0] == "make"]
    assert targets == ["demo", "test"]
    makefile = (ROOT / "Makefile").read_text()
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    assert {words[0] for words in others} == {"make", "pip", "java"}
    assert all(any(command.startswith(start) for command in commands()) for start in NOT_RUN), "something to strike out"


def test_the_flags_are_the_fields() -> None:
    rows = []
    for name, field in FIELDS.items():
        shown_flag, default = f"`{flag(name)}`", field.default
        if isinstance(default, bool):
            shown_flag += f" `--no-{flag(name)[2:]}`"
            shown = "yes" if default else "no"
        else:
            shown = ",".join(default) if isinstance(default, tuple) else str(default)
        rows.append([shown_flag, shown, field.metadata["help"]])
    assert table("## Flags of `stemcell train`") == rows


def test_the_configuration_file_is_one() -> None:
    (text,) = blocks("yaml")
    config = from_dict(yaml.safe_load(text))
    assert config.tasks == ("con", "srl")


def test_the_study_is_one(tmp_path: Path) -> None:
    (text,) = [block for block in blocks("text") if block.startswith("models:")]
    (tmp_path / "mine.yaml").write_text(text)
    assert len(read_study(tmp_path / "mine.yaml").runs) == 3 * (5 + 1 + 5 + 5)


def test_the_encoders_are_all_there() -> None:
    rows = table("## Encoders")
    assert [name for row in rows for name in coded(row[0])] == list(names.NAMES)
    assert {coded(row[0])[0]: row[1] for row in rows if row[2] == "hub"} == names.HUB


def test_the_sweeps_are_all_there() -> None:
    from stemcell.searching.space import shipped

    assert sorted(coded(row[0])[0] for row in table("## Sweeps")) == sorted(shipped())


def test_the_formats_are_all_there() -> None:
    rows = table("## Corpora")
    assert [coded(row[0]) for row in rows] == [list(endings) for endings in folders.ENDINGS.values()]
    for row, layers in zip(rows, folders.GIVES.values(), strict=True):
        assert set(re.findall("POS|NER|DEP|CON|SRL", row[2])) == {layer.upper() for layer in layers}


def test_files_that_are_named_are_there() -> None:
    named = set(re.findall(r"`((?:stemcell|scripts|sweeps|mlflow|docs|tests)/[\w./]+)`", TEXT))
    assert len(named) > 4
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_pictures_are_small() -> None:
    pictures = {
        page.parent / picture
        for page in PAGES
        for picture in re.findall(r"!\[[^]]+\]\(([^)]+)\)", page.read_text("utf-8"))
    }
    assert len(pictures) > 3
    assert all(picture.stat().st_size < 300_000 for picture in pictures)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Result]]:
    """All that is run, in the pages' order, in one folder, which is the working folder meanwhile."""
    from stemcell.corpora.demo import write_demo

    results: dict[str, Result] = {}
    with contextlib.chdir(tmp_path_factory.mktemp("readme")):
        for command in filter(is_run, commands()):
            if command.startswith("ACCELERATE_USE_CPU"):
                environment = {**os.environ, "OMP_NUM_THREADS": "1"}
                environment["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), environment["PATH"]))
                ended = subprocess.run(
                    ["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=300
                )
                results[command] = Result(ended.returncode, ended.stdout, ended.stderr)
                continue
            given = arguments(command)
            assert given is not None, command
            if given[0] == "sweep":
                # On so small a corpus there are so few steps that gates need a higher rate.
                given += ["--gate-lr", "0.5"]
            piped = re.match('echo "(.*)" [|]', command)
            results[command] = stemcell(*given, stdin=f"{piped[1]}\n" if piped else "")
            if given[:2] == ["data", "demo"]:
                # The commands stay as they are, and their corpus becomes smaller.
                shutil.rmtree("demo-corpus")
                write_demo(Path("demo-corpus"), sizes=(60, 21, 19))
        yield results


@pytest.mark.slow
def test_what_can_be_run_runs(ran: dict[str, Result]) -> None:
    assert {command: result.err for command, result in ran.items() if result.code} == {}
    assert len(ran) > 10
    text, conllu, smaller = (result for command, result in ran.items() if "stemcell predict" in command)
    assert "(TOP" in text.out
    assert re.match(r"1 +Mary +\w+\n", smaller.out)
    assert "heads kept" in ran["stemcell gates runs/pos-dp --out figures"].out
    assert len(list(Path("figures").rglob("*.svg"))) > 0
    assert conllu.out == ""
    assert len(re.findall(r"^\d", Path("parsed.conllu").read_text("utf-8"), re.MULTILINE)) == 8
    assert all("nothing was missing" in line for line in ran["stemcell sync runs/mtl5 runs/pos"].out.splitlines())
    steps = [max(step for _, step in points(Path(run))) for run in ("runs/pos", "runs/two")]
    assert steps == [2, 5]


@pytest.mark.slow
def test_the_python_runs(ran: dict[str, Result]) -> None:
    (code,) = blocks("python")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    assert "(TOP" in out.getvalue()
    assert "'words': ['Mary', 'slept', '.']" in out.getvalue()


@pytest.mark.slow
def test_the_run_folder_is_told(ran: dict[str, Result]) -> None:
    told = [name for row in table("## Run folder") for name in coded(row[0])]
    files = [path.relative_to(run).as_posix() for run in TOLD for path in run.rglob("*") if path.is_file()]
    assert [file for file in files if not file.startswith((*told, ".lock"))] == []
    assert [name for name in told if not any(file.startswith(name) for file in files)] == []


@pytest.mark.slow
def test_the_metrics_are_told(ran: dict[str, Result]) -> None:
    told = [name for row in table("## Metrics") for name in coded(row[0])]
    kinds = {"TASK": f"({'|'.join(TASKS)})", "SPLIT": "(dev|test)", "SCORE": r"\w+", "MODE": r"[\w-]+", "…": r"\w+"}
    patterns = [re.sub("|".join(kinds), lambda kind: kinds[kind[0]], name) for name in told]
    journals = ("metrics.jsonl", "system.jsonl", "results.jsonl")
    found = {name for run in TOLD for name, _ in points(run, journals, speed=True)}
    assert [name for name in found if not any(re.fullmatch(pattern, name) for pattern in patterns)] == []
    assert [p for p in patterns if not any(re.fullmatch(p, name) for name in found)] == []


@pytest.mark.slow
def test_the_scores_are_told(ran: dict[str, Result]) -> None:
    found = {name for name, _ in points(Path("runs/mtl5"))}
    for name, scores in table("## Metrics", 1):
        task = name.lower()
        told = coded(scores.replace("`:`", ""))
        assert told[0] == find_task(task).main
        assert {f"dev/{task}/{score}" for score in told} == {name for name in found if name.startswith(f"dev/{task}/")}
