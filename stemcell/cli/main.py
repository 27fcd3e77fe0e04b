"""The command line: one table of commands; every error that a user can mend becomes one message and exit code 2."""

from __future__ import annotations

import sys

import typer

import stemcell
from stemcell.cli import (
    attention,
    compare,
    data,
    doctor,
    evaluate,
    export,
    gates,
    predict,
    probe,
    study,
    sweep,
    sync,
    train,
    ui,
)  # fmt: skip
from stemcell.cli.streams import prepare
from stemcell.errors import UserError
from stemcell.signals import exit_on_stop

app = typer.Typer(
    name="stemcell",
    help="Which attention heads of a transformer encoder do what, and why tasks on one encoder hurt each other.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="markdown",
)
app.command("train")(train.command)
app.command("evaluate")(evaluate.command)
app.command("predict")(predict.command)
app.command("gates")(gates.command)
app.command("export")(export.command)
app.command("probe")(probe.command)
app.command("attention")(attention.command)
app.command("study")(study.command)
app.command("sweep")(sweep.command)
app.command("compare")(compare.command)
app.add_typer(data.app, name="data")
app.command("sync")(sync.command)
app.command("ui")(ui.command)
app.command("doctor")(doctor.command)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"stemcell {stemcell.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def main() -> None:
    """Run the command line; exit 2 with one message on a :class:`UserError`, 128 + N on signal N."""
    prepare()
    exit_on_stop()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except UserError as error:
        print(f"stemcell: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        # What the machine refuses where nobody knew better what to say: a path too long, a failing disk.
        print(f"stemcell: {error}", file=sys.stderr)
        sys.exit(2)
