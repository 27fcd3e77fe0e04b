"""``stemcell export``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from stemcell.heads.export import Export


def command(
    run: Annotated[str, typer.Argument(help="A run: its folder or its MLflow id.")],
    out: Annotated[Path, typer.Option(help="Folder to make; it must not be there.")],
    threshold: Annotated[
        float, typer.Option(help="Remove heads with a gate of at most this. Above 0, outputs change a little.")
    ] = 0.0,
    task: Annotated[str | None, typer.Option(help="With gates of each task: the task to export.")] = None,
) -> None:
    """Write a trained model without the heads that its gates have closed; the other gates are built in.

    The folder serves as a run does for `stemcell evaluate`, `stemcell predict` and `stemcell.load`, and its `encoder`
    as an encoder to train.

    Examples:

    - `stemcell export runs/pos-dp --out pruned`

    - `stemcell export runs/pos-dp --out smaller --threshold 0.05`
    """
    from rich.console import Console

    from stemcell.heads.export import export

    report = export(run, out, threshold=threshold, task=task)
    Console(width=100).print(_table(report))
    if report.before.heads == report.after.heads:
        print("no gate is closed: nothing was removed")
    print(f"export folder: {out}")


def _table(report: Export) -> Table:
    from rich.table import Table

    before, after = report.before, report.after
    rows = [
        ("attention heads", f"{before.heads}", f"{after.heads}", after.heads / before.heads),
        ("parameters, encoder", f"{before.encoder_parameters:,}", f"{after.encoder_parameters:,}",
         after.encoder_parameters / before.encoder_parameters),
        ("parameters, all", f"{before.parameters:,}", f"{after.parameters:,}", after.parameters / before.parameters),
        ("multiply-adds, one sentence", f"{before.multiply_adds:,}", f"{after.multiply_adds:,}",
         after.multiply_adds / before.multiply_adds),
        ("latency, one sentence (ms)", f"{before.latency * 1e3:.2f}", f"{after.latency * 1e3:.2f}",
         after.latency / before.latency),
        (f"words/s, {report.batch} sentences", f"{before.words_per_second:,.0f}", f"{after.words_per_second:,.0f}",
         after.words_per_second / before.words_per_second),
    ]  # fmt: skip
    title = f"the encoder on sentences of {report.words} words, {report.device}"
    table = Table("", title=title, title_justify="left")
    for name in ("before", "after", "ratio"):
        table.add_column(name, justify="right")
    for name, old, new, ratio in rows:
        table.add_row(name, old, new, f"{ratio:.3f}")
    return table
