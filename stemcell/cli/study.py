"""``stemcell study``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from stemcell.cli.streams import keep_working
from stemcell.errors import UserError


def command(
    study: Annotated[str, typer.Argument(help="A file NAME.yaml, or one that comes along: stl-mtl, pruning, probes.")],
    size: Annotated[
        str, typer.Option(help="One of its sizes: smoke, small or paper. [smoke]", show_default=False)
    ] = "",
    data: Annotated[str, typer.Option(help="Corpus folder, instead of the study's own.", show_default=False)] = "",
    encoder: Annotated[
        list[str] | None, typer.Option(help="Encoder, instead of the study's own; may be given several times.")
    ] = None,
    seeds: Annotated[
        str, typer.Option(help="Seeds, separated by commas, instead of its own.", show_default=False)
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="Folder of studies; by default `studies` in the run home.", show_default=False)
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Runs at a time on this machine.")] = 1,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would run, and what is done already.")] = False,
) -> None:
    """Train a grid of runs (encoders x task sets x pruning x seeds), and evaluate, export or probe each.

    The same command goes on where it stopped, and repeats nothing that is finished; given on several machines that
    share the folder, they share the runs.

    Examples:

    - `stemcell study stl-mtl --encoder tiny-bert`

    - `stemcell study pruning --size small --data ewt --workers 2`

    - `stemcell study mine.yaml --dry-run`
    """
    from stemcell.home import home
    from stemcell.studying.grid import find_study
    from stemcell.studying.reading import read_study

    plan_of = read_study(find_study(study), size, data=data, encoders=encoder or (), seeds=_seeds(seeds))
    folder = out or home() / "studies"
    if dry_run:
        _show(plan_of.name, folder, plan_of)
        return
    from stemcell.studying.work import Interrupted, do

    keep_working()
    place = folder / plan_of.name
    try:
        failed = do(plan_of, folder, workers)
    except Interrupted as interrupted:
        print(f"stopped and saved; the same command goes on: {place}", file=sys.stderr)
        sys.exit(128 + interrupted.signal)
    print(f"study folder: {place}", file=sys.stderr)
    if failed:
        print(f"stemcell: {len(failed)} of the study's runs failed; the same command tries them again", file=sys.stderr)
        for item in failed:
            print(f"  {item.name}: {item.reason} (log: {place / '.logs' / f'{item.name}.txt'})", file=sys.stderr)
        sys.exit(1)


def _seeds(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")] if text else []
    except ValueError:
        raise UserError(f"--seeds is {text!r}: whole numbers, separated by commas") from None


def _show(title: str, folder: Path, study: object) -> None:
    from rich.console import Console

    from stemcell.studying.board import table
    from stemcell.studying.grid import Study
    from stemcell.studying.work import plan

    assert isinstance(study, Study)
    lines = plan(study, folder)
    Console(width=100).print(table(title, lines, most=len(lines)))
