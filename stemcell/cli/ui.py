"""``stemcell ui``."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 5000,
) -> None:
    """Show all runs in MLflow's pages, on this machine only.

    Examples:

    - `stemcell ui`

    - `stemcell ui --port 5050`
    """
    from stemcell.tracking.ui import serve

    serve(port)
