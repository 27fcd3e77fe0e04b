"""Maps of gates: written as tables, read again, and never misread."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from stemcell.errors import UserError
from stemcell.heads.maps import TABLE_COLUMNS, matrix, read_gates, table_rows
from stemcell.tracking.folder import RunFolder
from tests.heads.runs import gates, pruned


def test_removed_heads_leave_a_gap() -> None:
    values = matrix([0.5, 1.0, 0.25], [[2], [], [0, 1]], 3)
    assert values.tolist() == [[0, 0, 0.5], [0, 0, 0], [1, 0.25, 0]]
    with pytest.raises(ValueError):
        matrix([0.5], [[0, 1]], 2)


def test_tables_count_from_one_and_say_what_is_kept() -> None:
    rows = table_rows(12, gates([0.0, 1e-3, 0.5]))
    assert rows == [
        [12, "joint", 1, 1, 0.0, False],
        [12, "joint", 1, 2, 1e-3, False],
        [12, "joint", 1, 3, 0.5, True],
    ]
    assert len(rows[0]) == len(TABLE_COLUMNS)


@pytest.mark.parametrize("best", [9, 1_000_000])
def test_what_training_wrote_is_read_again(tmp_path: Path, best: int) -> None:
    # Past six digits the names do not sort as the steps do.
    random = np.random.default_rng(0)
    history = {step: {name: random.uniform(size=(3, 2)) for name in ("pos", "ner")} for step in (9, 120, 1_000_000)}
    read = read_gates(pruned(tmp_path / "run", history, ("pos", "ner"), best=best))
    assert read.steps == [9, 120, 1_000_000]
    assert list(read.values) == ["pos", "ner"]
    for i, step in enumerate(read.steps):
        for name in ("pos", "ner"):
            assert np.array_equal(read.values[name][i], history[step][name])
    assert all(np.array_equal(read.final()[name], history[best][name]) for name in ("pos", "ner"))


def test_before_the_first_checkpoint_the_last_evaluation_counts(tmp_path: Path) -> None:
    run = pruned(tmp_path / "run", {1: gates([0.1, 0.2]), 2: gates([0.3, 0.4])})
    (run.path / "checkpoints" / "best.json").unlink()
    assert read_gates(run).final()["joint"].tolist() == [[0.3, 0.4]]


def test_runs_without_gates_are_told_from_young_ones(tmp_path: Path) -> None:
    plain = RunFolder.create(tmp_path / "plain", {"encoder": "bert"}, {})
    with pytest.raises(UserError, match=r"plain: trained without gates.*--prune"):
        read_gates(plain)
    with pytest.raises(UserError, match=r"young: no evaluation yet.*--resume"):
        read_gates(pruned(tmp_path / "young", {}, best=0))


def broken_json(rows: list) -> str:
    return '{"columns": [], "data": ['


def no_rows(rows: list) -> str:
    return '{"data": []}'


def other_form(rows: list) -> str:
    return "[1, 2]"


def row_missing(rows: list) -> str:
    return json.dumps({"data": rows[1:]})


def row_short(rows: list) -> str:
    return json.dumps({"data": [rows[0][:3], *rows[1:]]})


def counted_from_zero(rows: list) -> str:
    return json.dumps({"data": [[step, name, layer - 1, *rest] for step, name, layer, *rest in rows]})


def no_number(rows: list) -> str:
    return json.dumps({"data": [[*rows[0][:4], "nan", True], *rows[1:]]})


def over_one(rows: list) -> str:
    return json.dumps({"data": [[*rows[0][:4], 1.5, True], *rows[1:]]})


def fewer_heads(rows: list) -> str:
    return json.dumps({"data": [row for row in rows if row[3] == 1]})


def another_set(rows: list) -> str:
    return json.dumps({"data": [[step, "pos", *rest] for step, _, *rest in rows]})


@pytest.mark.parametrize(
    "damage",
    [broken_json, no_rows, other_form, row_missing, row_short, counted_from_zero, no_number, over_one, fewer_heads,
     another_set],
)  # fmt: skip
def test_a_damaged_table_is_named(tmp_path: Path, damage: Callable[[list], str]) -> None:
    run = pruned(tmp_path / "run", {step: gates([0.1, 0.2], [0.3, 0.4]) for step in (1, 2)})
    table = run.path / "tables" / "gates" / "step-000002.json"
    table.write_text(damage(json.loads(table.read_text())["data"]))
    with pytest.raises(UserError, match=r"step-000002\.json.*damaged"):
        read_gates(run)


@pytest.mark.parametrize("content", ['{"step": 3}', '{"steps": 1}', "[]", "{"])
def test_a_damaged_pointer_is_named(tmp_path: Path, content: str) -> None:
    run = pruned(tmp_path / "run", {1: gates([0.1, 0.2])})
    (run.path / "checkpoints" / "best.json").write_text(content)
    with pytest.raises(UserError, match=r"best\.json.*damaged"):
        read_gates(run)
