"""``stemcell evaluate``."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    run: Annotated[str, typer.Argument(help="A run: its folder or its MLflow id.")],
    data: Annotated[str | None, typer.Option(help="Another corpus than the one it was trained on.")] = None,
    split: Annotated[str, typer.Option(help="train, dev or test.")] = "test",
    tasks: Annotated[str | None, typer.Option(help="Some of the run's tasks, separated by commas.")] = None,
    precision: Annotated[str, typer.Option(help="Mixed precision: no, bf16 or fp16.")] = "no",
) -> None:
    """Score a trained run on a split; the scores go into its folder and its MLflow record.

    Examples:

    - `stemcell evaluate runs/mtl5`

    - `stemcell evaluate runs/mtl5 --split dev --tasks dep,con`
    """
    from stemcell.training.processes import rank
    from stemcell.training.run import evaluate_run

    table = evaluate_run(run, data=data, split=split, tasks=tasks, precision=precision)
    if rank() == 0:
        print(table)
