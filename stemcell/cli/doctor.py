"""``stemcell doctor``."""

from __future__ import annotations

import typer


def command() -> None:
    """Say what works on this machine; exit 2 if something that every run needs does not.

    Examples:

    - `stemcell doctor`
    """
    from stemcell.doctor import examine, render

    checks = examine()
    print(render(checks))
    if any(check.state == "fails" for check in checks):
        raise typer.Exit(2)
