"""What a person sees of a long run: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

# Seconds between plain lines where there is no terminal.
INTERVAL = 15.0


def say(message: str) -> None:
    """Print a line for people, at once (standard error, so that standard output stays clean)."""
    print(message, file=sys.stderr, flush=True)


class Display:
    """Progress of one epoch or one evaluation; silent on all processes but the main one."""

    def __init__(self, title: str, total: int, shown: bool) -> None:
        self._title, self._total, self._shown = title, total, shown
        self._done = self._skipped = 0
        self._start = self._last = time.monotonic()
        self._live: Any = None
        self._losses: dict[str, float] = {}

    def __enter__(self) -> Display:
        if self._shown and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
            self._live = Progress(*columns, TextColumn("{task.fields[note]}"), console=Console(stderr=True))
            self._live.start()
            self._bar = self._live.add_task(self._title, total=self._total, note="")
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def skip(self, done: int) -> None:
        """Count ``done`` as done before: they took no time now."""
        self._done = self._skipped = done

    def advance(self, by: int = 1, losses: dict[str, float] | None = None, words: int = 0, seconds: float = 0) -> None:
        """Count ``by`` more done, with the latest loss a task and the words and seconds of this part."""
        self._done += by
        self._losses.update(losses or {})
        if not self._shown:
            return
        now = time.monotonic()
        if not self._live and now - self._last < INTERVAL and self._done < self._total:
            return
        note = " ".join(f"{task} {loss:.3f}" for task, loss in self._losses.items())
        if words:
            note += f" · {words / seconds:,.0f} words/s"
        if self._live:
            self._live.update(self._bar, completed=self._done, note=note)
        else:
            left = (now - self._start) / (self._done - self._skipped) * (self._total - self._done)
            say(f"{self._title} {self._done}/{self._total} {note} · {left:.0f} s left")
        self._last = now


def score_table(scores: dict[str, dict[str, float]], mains: Callable[[str], str], title: str) -> str:
    """Scores as text: a row a task, the main score first, in per cent."""
    from io import StringIO

    from rich.console import Console
    from rich.table import Table

    table = Table("task", "score", "%", "others", title=title, title_justify="left")
    for task, values in scores.items():
        main = mains(task)
        others = "  ".join(f"{name} {value * 100:.2f}" for name, value in values.items() if name != main)
        table.add_row(task.upper(), main, f"{values[main] * 100:.2f}", others)
    console = Console(file=StringIO(), width=120)
    console.print(table)
    return console.file.getvalue().rstrip()  # type: ignore[attr-defined]
