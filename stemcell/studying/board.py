"""How a study stands, for people: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from stemcell.tracking.journal import Entry, entries

if TYPE_CHECKING:
    from rich.console import Group

# Lines of the live table at most, and points of a history that tell its speed.
LINES, RECENT = 24, 50


@dataclass(frozen=True)
class Line:
    """A run as it stands: its state, epochs done and in all, the best dev average, seconds left, and what is wrong."""

    name: str
    state: str
    epoch: int = 0
    epochs: int = 0
    average: float | None = None
    left: float | None = None
    reason: str = ""


class Board:
    """Shows a study's lines; on a terminal all the time, elsewhere what has changed."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._live: Any = None
        self._states: dict[str, str] = {}

    def __enter__(self) -> Board:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=2)
            self._live.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def show(self, lines: Sequence[Line], left: float | None) -> None:
        """Show all runs, in order, and the seconds that are left for them all."""
        if self._live:
            self._live.update(table(self._title, lines, left))
            return
        for number, line in enumerate(lines, 1):
            before = self._states.get(line.name)
            self._states[line.name] = line.state
            if line.state == before or line.state == "waiting" or (before is None and line.state != "running"):
                continue
            finished = line.state == "finished"
            average = f", dev average {line.average * 100:.2f}" if finished and line.average is not None else ""
            reason = f": {line.reason}" if line.reason else ""
            after = f" · {spell(left)} left" if left is not None and finished else ""
            say(f"[{number}/{len(lines)}] {line.name}: {line.state}{average}{reason}{after}")


def table(title: str, lines: Sequence[Line], left: float | None = None, most: int = LINES) -> Group:
    """The lines as a table: all of them or, with more than ``most``, those around the ones at work."""
    from rich.console import Group
    from rich.table import Table

    counts = Counter(line.state for line in lines)
    summary = ", ".join(f"{count} {state}" for state, count in counts.items())
    end = f" · about {spell(left)} left" if left is not None else ""
    shown = Table()
    for name, justify in (("run", "left"), ("state", "left"), ("epoch", "right"), ("dev", "right"), ("left", "right")):
        shown.add_column(name, justify=justify)  # type: ignore[arg-type]
    for line in _around(lines, most):
        shown.add_row(
            line.name,
            line.state + (f": {line.reason}" if line.reason else ""),
            f"{line.epoch}/{line.epochs}" if line.epochs else "",
            f"{line.average * 100:.2f}" if line.average is not None else "",
            spell(line.left) if line.left is not None else "",
        )
    return Group(f"{title}: {summary}{end}", shown)


def progress(run: Path, epochs: int) -> tuple[int, float | None, float | None]:
    """Of a run in training: epochs done, the best dev average, and the seconds left; None for what is not known yet."""
    history = list(entries(run / "metrics.jsonl"))
    averages = [entry for entry in history if "dev/average" in entry.metrics]
    best = max((entry.metrics["dev/average"] for entry in averages), default=None)
    return len(averages), best, _left(history, averages, epochs)


def _left(history: list[Entry], averages: list[Entry], epochs: int) -> float | None:
    if not averages or len(history) < 2:
        return None
    total = averages[-1].step / len(averages) * epochs
    recent = history[-RECENT:]
    steps = recent[-1].step - recent[0].step
    return (recent[-1].time - recent[0].time) / steps * (total - history[-1].step) if steps > 0 else None


def _around(lines: Sequence[Line], most: int) -> list[Line]:
    """Failures and what is at work always, then what was done last and what is next."""
    if len(lines) <= most:
        return list(lines)
    active = [i for i, line in enumerate(lines) if line.state in ("running", "elsewhere", "failed")]
    centre = next((i for i in active if lines[i].state == "running"), len(lines) - 1 if not active else active[-1])
    near = sorted(range(len(lines)), key=lambda i: (i not in active, abs(i - centre)))
    return [lines[i] for i in sorted(near[:most])]


def spell(seconds: float) -> str:
    """A time in words: 45 s, 12 min, 3 h 20 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def say(message: str) -> None:
    """Print a line for people, at once, with the time of day."""
    print(f"{time.strftime('%H:%M:%S')} {message}", file=sys.stderr, flush=True)
