"""``stemcell sync``."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    runs: Annotated[list[str], typer.Argument(help="Runs: their folders or their MLflow ids.", show_default=False)],
) -> None:
    """Complete runs' records in MLflow from their folders, for instance when its server was away; nothing is doubled.

    A sweep's trials go with it.

    Examples:

    - `stemcell sync runs/mtl5`

    - `MLFLOW_TRACKING_URI=http://127.0.0.1:5000 stemcell sync runs/*`
    """
    from stemcell.tracking.folder import find_run
    from stemcell.tracking.sync import parts, sync

    found = [find_run(name, sweeps=True) for name in runs]
    for folder in [part for run in found for part in (run, *parts(run))]:
        sent = sync(folder)
        missing = sent.points or sent.files
        what = f"{sent.points:,} points and {sent.files} files sent" if missing else "nothing was missing"
        print(f"{folder.path}: {what}")
