"""``stemcell gates`` as a user meets it."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from stemcell.cli.main import app
from stemcell.errors import UserError
from stemcell.heads.overlap import overlap
from tests.heads.runs import gates, pruned

SHAPE = (3, 4)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["gates", *map(str, arguments)])


def final(task: str, seed: int) -> np.ndarray:
    """Gates of which about half are closed, others partly open."""
    random = np.random.default_rng([seed, *task.encode()])
    return np.clip(random.uniform(-1, 1.5, SHAPE), 0, 1)


@pytest.fixture
def six(tmp_path: Path) -> list[Path]:
    """Three seeds each of two tasks, evaluated twice."""
    return [
        pruned(tmp_path / "runs" / f"{task}-{seed}", {5: gates(*np.ones(SHAPE)), 9: {"joint": final(task, seed)}},
               [task], seed).path
        for task in ("pos", "ner")
        for seed in (1, 2, 3)
    ]  # fmt: skip


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_one_run_is_a_map_and_nothing_to_compare(tmp_path: Path) -> None:
    path = pruned(tmp_path / "run", {5: gates([1, 0], [0.5, 1])}).path
    result = run(path)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1:5] == [
        "layer   1  2   kept",
        "    2  ▒▒ ██      2",
        "    1  ██  ·      1",
        "joint: 3 of 4 heads kept (75.0%)",
    ]
    assert "Overlap" not in result.stdout
    assert "2 of 4 heads kept (50.0%)" in run(path, "--threshold", "0.5").stdout


def test_one_run_with_a_set_a_task_compares_its_tasks(tmp_path: Path) -> None:
    sets = {"pos": np.eye(2), "ner": np.ones((2, 2))}
    result = run(pruned(tmp_path / "run", {5: sets}, ("pos", "ner"), gates="per-task").path)
    assert "pos: 2 of 4 heads kept (50.0%)" in result.stdout
    assert "ner: 4 of 4 heads kept (100.0%)" in result.stdout
    words = [line.split() for line in result.stdout.splitlines()]
    assert ["pos", "of", "pos+ner", "–", "ner", "of", "pos+ner", "2", "4", "2", "2.0", "1", "0.50"] in words
    assert "Consistency" not in result.stdout


def test_six_runs_give_every_figure_and_table(six: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "figures"
    result = run(*six, "--out", out)
    assert result.exit_code == 0, result.exception
    assert "Consistency across seeds" in result.stdout
    figures = {f"map-{path.name}" for path in six} | {"rgb-pos", "rgb-ner", "average", "layers", "overlap"}
    files = {f"{name}.{kind}" for name in figures for kind in ("png", "svg", "pdf")}
    files |= {f"film-{path.name}.png" for path in six}
    files |= {"gates.csv", "overlap.csv", "consistency.csv", "shares.csv"}
    assert {path.name for path in out.iterdir()} == files
    with Image.open(out / "film-pos-1.png") as film:
        assert film.n_frames == 2

    rows = table(out / "gates.csv")
    assert len(rows) == 6 * 12
    for row in rows:
        task, seed = row["run"].split("-")
        gate = final(task, int(seed))[int(row["layer"]) - 1, int(row["head"]) - 1]
        assert (row["set"], float(row["gate"]), row["kept"]) == ("joint", gate, str(int(gate > 1e-3)))

    masks = {f"{task}-{seed}": final(task, seed) > 1e-3 for task in ("pos", "ner") for seed in (1, 2, 3)}
    tasks = {task: sum(masks[f"{task}-{seed}"] for seed in (1, 2, 3)) >= 2 for task in ("pos", "ner")}
    pairs = table(out / "overlap.csv")
    assert [row["of"] for row in pairs] == ["tasks"] + 15 * ["runs"]
    for row in pairs:
        of = tasks if row["of"] == "tasks" else masks
        expected = overlap(of[row["first"]], of[row["second"]])
        assert [float(value) for value in list(row.values())[3:]] == [
            expected.heads, expected.first, expected.second, expected.both, expected.expected, expected.at_least,
            expected.at_most, expected.jaccard,
        ]  # fmt: skip
    pos, ner = table(out / "consistency.csv")
    assert (pos["of"], pos["seeds"], ner["of"]) == ("pos", "1 2 3", "ner")
    shares = {(row["of"], row["layer"], row["head"]): float(row["share_of_seeds"]) for row in table(out / "shares.csv")}
    assert len(shares) == 24
    assert shares["ner", "2", "4"] == pytest.approx(np.mean([final("ner", seed)[1, 3] > 1e-3 for seed in (1, 2, 3)]))
    assert sum(share == 1 for (of, *_), share in shares.items() if of == "pos") == int(pos["kept_by_all"])


def test_one_run_gives_only_what_applies_and_the_same_bytes_again(tmp_path: Path) -> None:
    path = pruned(tmp_path / "run", {5: gates([1, 0], [0.5, 1])}).path
    out = tmp_path / "figures"
    assert run(path, "--out", out).exit_code == 0
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    stems = {name.split(".")[0] for name in before}
    assert stems == {"map-run", "film-run", "layers", "gates"}
    (out / "mine.txt").write_text("kept")
    refused = run(path, "--out", out)
    assert isinstance(refused.exception, UserError)
    assert "not empty" in str(refused.exception)
    assert run(path, "--out", out, "--overwrite").exit_code == 0
    assert {file.name: file.read_bytes() for file in out.iterdir()} == {**before, "mine.txt": b"kept"}


@pytest.mark.parametrize("threshold", ["1", "-0.1", "nan", "inf"])
def test_thresholds_that_mean_nothing_are_refused(tmp_path: Path, threshold: str) -> None:
    result = run(pruned(tmp_path / "run", {5: gates([1, 0])}).path, f"--threshold={threshold}")
    assert isinstance(result.exception, UserError)
    assert "from 0 to below 1" in str(result.exception)


def test_what_is_wrong_is_said_before_anything_is_written(tmp_path: Path) -> None:
    path = pruned(tmp_path / "run", {5: gates([1, 0])}).path
    (tmp_path / "file").write_text("x")
    assert "is a file" in str(run(path, "--out", tmp_path / "file").exception)
    other = pruned(tmp_path / "other", {5: gates([1, 0])}, encoder="bert").path
    for wrong in (other, tmp_path / "nothing"):
        result = run(path, wrong, "--out", tmp_path / "new")
        assert isinstance(result.exception, UserError)
        assert result.stdout == ""
    assert not (tmp_path / "new").exists()


def test_a_pipe_gets_plain_text_and_no_framework_is_loaded(tmp_path: Path) -> None:
    path = pruned(tmp_path / "run", {5: gates([1, 0])}).path
    code = (
        "import sys; from stemcell.cli.main import main; sys.argv = ['stemcell', *sys.argv[1:]]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "assert not {'torch', 'transformers', 'matplotlib', 'mlflow'} & sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-c", code, "gates", path], capture_output=True, check=True)
    assert done.stderr == b""
    assert "joint: 1 of 2 heads kept (50.0%)" in io.StringIO(done.stdout.decode("utf-8")).read()
    assert b"\x1b" not in done.stdout
