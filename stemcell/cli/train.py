"""``stemcell train``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from stemcell.cli.options import resolve, with_config_flags
from stemcell.cli.streams import keep_working
from stemcell.config import read_yaml


@with_config_flags
def command(
    flags: dict[str, Any],
    config: Annotated[Path | None, typer.Option(help="YAML file of settings; flags override it.")] = None,
    resume: Annotated[
        str | None, typer.Option(help="Go on with this run (folder or MLflow id) where it stopped.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run folder if it is there.")] = False,
) -> None:
    """Train and evaluate one encoder on one or several tasks.

    Examples:

    - `stemcell train --encoder tiny-bert --data demo --epochs 3`

    - `stemcell train --encoder minilm --tasks dep --data ewt --out runs/dep --precision bf16`

    - `accelerate launch -m stemcell train --encoder roberta --data ontonotes --out runs/mtl5`

    - `stemcell train --resume runs/mtl5`
    """
    from stemcell.training.loop import Stopped
    from stemcell.training.run import resume_run, start_run

    keep_working()
    try:
        if resume is not None:
            resume_run(resume, {**(read_yaml(config) if config else {}), **flags})
        else:
            start_run(resolve(flags, config), overwrite=overwrite)
    except Stopped as stopped:
        sys.exit(128 + stopped.signal)
