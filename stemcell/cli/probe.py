"""``stemcell probe``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stemcell.errors import UserError


def command(
    target: Annotated[str, typer.Argument(help="A run, an export or an encoder (bert, minilm, a folder …).")],
    data: Annotated[Path, typer.Option(help="Corpus folder.")],
    out: Annotated[Path, typer.Option(help="Folder for probe.csv, probe.parquet and probe-labels.csv.")],
    split: Annotated[str, typer.Option(help="train, dev or test.")] = "test",
    tasks: Annotated[str | None, typer.Option(help="Some of the tasks, separated by commas.")] = None,
    samples: Annotated[int, typer.Option(min=0, help="Bootstrap samples for the intervals.")] = 200,
    batch_sentences: Annotated[int, typer.Option(min=1, help="Sentences in a batch at most.")] = 32,
    batch_tokens: Annotated[int, typer.Option(min=1, help="Subtokens in a batch at most.")] = 2048,
    precision: Annotated[str, typer.Option(help="Mixed precision: no, bf16 or fp16.")] = "no",
) -> None:
    """Ask every attention head what it knows of every label; nothing is trained.

    Examples:

    - `stemcell probe minilm --data corpus --out probes`

    - `stemcell probe runs/mtl5 --data corpus --split dev --tasks dep,srl --out probes/mtl5`
    """
    from stemcell.probing.run import probe_all
    from stemcell.probing.table import best_table
    from stemcell.training.processes import rank

    if out.is_file():
        raise UserError(f"{out}: is a file; give a folder as --out")
    names = [name.strip() for name in tasks.split(",")] if tasks else None
    result = probe_all(
        target,
        data,
        names,
        split=split,
        samples=samples,
        sentences=batch_sentences,
        tokens=batch_tokens,
        precision=precision,
    )
    if rank() == 0:
        result.write(out)
        print(best_table(result.labels))
        print(f"probes: {out}")
