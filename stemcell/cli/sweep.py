"""``stemcell sweep``."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from stemcell.cli.options import with_config_flags
from stemcell.cli.streams import keep_working
from stemcell.errors import UserError


@with_config_flags
def command(
    flags: dict[str, Any],
    sweep: Annotated[
        str, typer.Argument(help="A YAML file, or a sweep that comes with stemcell, by name.")
    ] = "default",
    name: Annotated[str | None, typer.Option(help="The sweep's name; by default the file's and the encoder's.")] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Trials in all; by default as the file says.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Trials at a time on this machine.")] = 1,
    timeout: Annotated[
        float | None, typer.Option(min=0, help="Stop after this many seconds; running trials are saved for next time.")
    ] = None,
    storage: Annotated[
        str | None, typer.Option(help="Where the study is, for several machines: postgresql://…, mysql://…, grpc://….")
    ] = None,
    launch: Annotated[str, typer.Option(help="What starts a trial's processes, such as 'accelerate launch'.")] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the space and one trial, and write nothing.")
    ] = False,
) -> None:
    """Search training fields for the best dev average, by many runs; the same command again goes on, or joins in.

    All flags of `stemcell train` hold for every trial. --out is the sweep's folder.

    Examples:

    - `stemcell sweep --encoder tiny-bert --data demo --dry-run`

    - `stemcell sweep --encoder deberta`

    - `stemcell sweep pareto --encoder minilm --data ewt --workers 2 --trials 60`

    - `stemcell sweep my.yaml --data ewt --storage postgresql://user@server/sweeps --name ewt-penalties`

    - `stemcell sweep --encoder roberta --data ewt --launch "accelerate launch --num_processes 4"`
    """
    from stemcell.searching.opening import Plan
    from stemcell.searching.space import find_sweep, read_sweep
    from stemcell.searching.sweep import Stop, encoders, resolve, run_sweep, sample

    folder = flags.pop("out", None)
    space = read_sweep(find_sweep(sweep), flags)
    config = resolve(space)
    title = name or f"{space.name}-{Path(config.encoder).name}"
    if not title.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise UserError(f"--name {title}: use letters, digits, '-', '_' and '.'")
    count = trials or space.trials
    if dry_run:
        print(sample(space, config, title, count))
        return
    keep_working()
    encoders(space, config)
    if not config.data:
        from stemcell.corpora.demo import demo_folder

        config = dataclasses.replace(config, data=str(demo_folder()))
    config = dataclasses.replace(config, data=str(Path(config.data).absolute()))
    from stemcell.home import home

    place = Path(folder) if folder else home() / "sweeps" / title
    plan = Plan(place.absolute(), title, count, workers, timeout, storage, launch)
    try:
        print(run_sweep(space, config, plan))
    except Stop as stop:
        print(f"stemcell: stopped and saved; the same command goes on with {place}", file=sys.stderr)
        sys.exit(128 + stop.signal)
