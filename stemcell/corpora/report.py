"""What reading a corpus found: problems that stop it, and oddities that are accepted, counted and said once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from stemcell.errors import UserError

SHOWN = 20
# What is wrong may quote a file that is one long line: its first and last characters are enough.
LONGEST = 150


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault: where it is, of what kind, what was found and what to do about it."""

    file: str
    line: int
    kind: str
    what: str
    remedy: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.what}; {self.remedy}"


@dataclass
class Report:
    """Collects problems and notes while files are read."""

    problems: list[Problem] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)

    def problem(self, file: object, line: int, kind: str, what: str, remedy: str) -> None:
        """Record a fault at ``file:line`` (line 0: the whole file)."""
        what = what if len(what) <= 2 * LONGEST else f"{what[:LONGEST]}…{what[-LONGEST:]}"
        self.problems.append(Problem(str(file), line, kind, what, remedy))

    def note(self, what: str, count: int = 1) -> None:
        """Count an accepted oddity; ``what`` is its wording, such as ``empty nodes skipped``."""
        self.notes[what] += count

    def lines(self) -> list[str]:
        """The problems as text, at most 20 of a kind and then a count."""
        seen: Counter[str] = Counter()
        out = []
        for problem in self.problems:
            seen[problem.kind] += 1
            if seen[problem.kind] <= SHOWN:
                out.append(str(problem))
        out += [f"... and {n - SHOWN} more: {kind}" for kind, n in seen.items() if n > SHOWN]
        return out

    def raise_problems(self) -> None:
        """Raise one :class:`UserError` that lists every problem, if there is one."""
        if self.problems:
            raise UserError("\n".join(self.lines()))
