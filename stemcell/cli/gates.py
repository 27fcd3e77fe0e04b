"""``stemcell gates``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def command(
    runs: Annotated[list[str], typer.Argument(help="Pruned runs: their folders or MLflow ids.", show_default=False)],
    threshold: Annotated[float, typer.Option(help="A head counts as kept where its gate exceeds this.")] = 0.001,
    out: Annotated[Path | None, typer.Option(help="Write figures, films and tables into this folder.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace figures that are there.")] = False,
) -> None:
    """Show which heads pruned runs keep; for several, what they have in common and what they would by chance.

    Layers and heads count from 1, and layer 1, the first above the words, is at the bottom.

    Examples:

    - `stemcell gates runs/pos-dp`

    - `stemcell gates runs/*-dp --out figures`
    """
    from stemcell.errors import UserError
    from stemcell.figures.gates import check_out, write
    from stemcell.heads.report import compare, comparison_text, read_runs, run_text

    if not 0 <= threshold < 1:
        raise UserError(f"threshold is {threshold:g}: it must be from 0 to below 1, since gates go from 0 to 1")
    if out:
        check_out(out, overwrite)
    pruned = read_runs(runs)
    comparison = compare(pruned, threshold)
    for run in pruned:
        print(run_text(run, threshold))
    for name in comparison.repeated:
        print(f"{name}: not compared, since a run of the same configuration and seed is there", file=sys.stderr)
    if text := comparison_text(comparison):
        print(text)
    if out:
        written = write(out, pruned, comparison, threshold)
        print(f"wrote {len(written)} files into {out}", file=sys.stderr)
