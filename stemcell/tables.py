"""Tables of measured values as CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

NONE = "–"


@dataclass(frozen=True)
class Measured:
    """A mean and its deviation over runs (None with one run), in whatever unit the table has."""

    mean: float
    deviation: float | None = None

    def text(self, digits: int = 2, sign: str = "±") -> str:
        """Such as ``97.31 ± 0.05``."""
        mean = f"{self.mean:.{digits}f}"
        return mean if self.deviation is None else f"{mean} {sign} {self.deviation:.{digits}f}"


Cell = str | int | float | Measured | None


@dataclass(frozen=True)
class Table:
    """Rows of cells under a header; None is a cell without a value.

    Attributes:
        title: what it shows.
        columns: the header.
        rows: as many cells each.
        digits: decimals of floats and measured values, outside CSV.
        notes: sentences below it.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    digits: int = 2
    notes: Sequence[str] = ()

    def cells(self) -> list[list[str]]:
        """The rows as text."""
        return [[self.shown(cell) for cell in row] for row in self.rows]

    def shown(self, cell: Cell, sign: str = "±") -> str:
        """One cell as text."""
        if isinstance(cell, Measured):
            return NONE if np.isnan(cell.mean) else cell.text(self.digits, sign)
        if isinstance(cell, float):
            return NONE if np.isnan(cell) else f"{cell:.{self.digits}f}"
        return NONE if cell is None else str(cell)

    def csv(self) -> str:
        """Comma-separated, unrounded, empty where there is no value; a column ``NAME_deviation`` for a measured one."""
        wide = [any(isinstance(row[place], Measured) for row in self.rows) for place in range(len(self.columns))]
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        names = zip(self.columns, wide, strict=True)
        writer.writerow([part for name, two in names for part in ((name, f"{name}_deviation") if two else (name,))])
        for row in self.rows:
            line: list[Any] = []
            for cell, two in zip(row, wide, strict=True):
                mean, deviation = (cell.mean, cell.deviation) if isinstance(cell, Measured) else (cell, None)
                line += [_plain(mean), _plain(deviation)] if two else [_plain(mean)]
            writer.writerow(line)
        return buffer.getvalue()

    def markdown(self) -> str:
        """A pipe table under its title."""
        lines = [f"**{self.title}**", "", _pipes(self.columns), "|" + "---|" * len(self.columns)]
        lines += [_pipes(row) for row in self.cells()]
        return "\n".join([*lines, *([""] if self.notes else []), *self.notes]) + "\n"

    def latex(self) -> str:
        r"""A ``table`` with ``\usepackage{booktabs}``."""
        head = " & ".join(map(_escaped, self.columns))
        body = []
        for row in self.rows:
            body.append(" & ".join(_escaped(self.shown(cell)).replace("±", r"$\pm$") for cell in row) + r" \\")
        notes = [_escaped(note) + r" \\" for note in self.notes]
        return "\n".join(
            [
                r"\begin{table}", r"\centering", rf"\caption{{{_escaped(self.title)}}}",
                rf"\begin{{tabular}}{{l{'r' * (len(self.columns) - 1)}}}", r"\toprule", head + r" \\", r"\midrule",
                *body, r"\bottomrule", r"\end{tabular}", *notes, r"\end{table}",
            ]
        ) + "\n"  # fmt: skip

    def files(self, name: str) -> dict[str, str]:
        """The three forms by file name."""
        return {f"{name}.csv": self.csv(), f"{name}.md": self.markdown(), f"{name}.tex": self.latex()}


def measured(values: Sequence[float], scale: float = 100.0) -> Measured | None:
    """Mean and sample deviation of a value a run, scaled; None without any, no deviation with one."""
    found = np.asarray(values, float) * scale
    if not len(found):
        return None
    return Measured(float(found.mean()), float(found.std(ddof=1)) if len(found) > 1 else None)


def _plain(value: Any) -> Any:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return f"{value:.10g}" if isinstance(value, float) else value


def _pipes(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|").replace("\n", " ") for cell in cells) + " |"


_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}", "–": "--", "≥": r"$\geq$",
    "−": "$-$", "×": r"$\times$", "|": r"\textbar{}", **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
