"""What is shown of a study: where each run stands, and what matters of very many."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from stemcell.studying.board import Board, Line, progress, spell, table
from stemcell.tracking.journal import Journal


def shown(lines: list[Line], most: int = 24) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(table("mine", lines, 4000, most))
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_a_table_tells_state_epoch_score_and_time() -> None:
    text = shown([Line("a-pos-seed1", "running", 2, 6, 0.8765, 75), Line("a-ner-seed1", "failed", reason="no memory")])
    assert "mine: 1 running, 1 failed · about 67 min left" in text
    row = next(line for line in text.splitlines() if "a-pos-seed1" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == ["a-pos-seed1", "running", "2/6", "87.65", "75 s"]
    assert "failed: no memory" in text


def test_of_many_runs_those_at_work_and_the_failed_are_shown() -> None:
    states = ["finished"] * 100 + ["running"] * 2 + ["waiting"] * 100
    lines = [Line(f"run{i:03d}", state) for i, state in enumerate(states)]
    lines[3] = Line("run003", "failed")
    text = shown(lines, most=10)
    assert [f"run{i:03d}" for i in range(202) if f"run{i:03d}" in text] == ["run003"] + [
        f"run{i:03d}" for i in range(96, 105)
    ]
    assert "99 finished, 1 failed, 2 running, 100 waiting" in text


def test_without_a_terminal_only_changes_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    with Board("mine") as board:
        board.show([Line("a", "finished", average=0.5), Line("b", "running")], None)
        board.show([Line("a", "finished", average=0.5), Line("b", "running", average=0.4)], None)
        board.show([Line("a", "finished", average=0.5), Line("b", "finished", average=0.6)], 100)
    told = [line.split(" ", 1)[1] for line in capsys.readouterr().err.splitlines()]
    assert told == ["[2/2] b: running", "[2/2] b: finished, dev average 60.00 · 2 min left"]


def test_progress_is_read_from_the_history(tmp_path: Path) -> None:
    assert progress(tmp_path, 4) == (0, None, None)
    journal = Journal(tmp_path / "metrics.jsonl")
    for step in range(1, 25):
        journal.append(step, {"loss/pos": 1.0, **({"dev/average": 0.5 - step / 100} if step % 10 == 0 else {})})
    journal.close()
    done, average, left = progress(tmp_path, 4)
    assert (done, average) == (2, 0.4)
    assert left is not None
    assert 0 <= left < 1


def test_times_are_spelt() -> None:
    assert [spell(seconds) for seconds in (5, 89, 95, 3600, 12345)] == ["5 s", "89 s", "2 min", "60 min", "3 h 26 min"]
