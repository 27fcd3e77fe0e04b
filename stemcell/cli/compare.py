"""``stemcell compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    out: Annotated[Path, typer.Option(help="Folder for the report and the tables; a run folder of its own.")],
    runs: Annotated[
        list[str] | None, typer.Argument(help="Runs, or studies: their folders or MLflow ids.", show_default=False)
    ] = None,
    condition: Annotated[
        str | None, typer.Option("--filter", help="Also the runs that meet MLflow's filter.", show_default=False)
    ] = None,
    experiment: Annotated[str, typer.Option(help="MLflow experiment that --filter looks in.")] = "stemcell",
    split: Annotated[str, typer.Option(help="Whose scores: train, dev or test.")] = "test",
    samples: Annotated[int, typer.Option(min=100, max=100_000, help="Bootstrap samples.")] = 2000,
    margin: Annotated[float, typer.Option(help="Points below STL that count as no loss (H2).")] = 0.2,
    stem_kept: Annotated[int, typer.Option(min=1, max=5, help="Tasks that must keep a stem-cell head.")] = 4,
    stem_knows: Annotated[int, typer.Option(min=0, max=5, help="Tasks whose labels it must know before training.")] = 2,
    ablate: Annotated[
        int, typer.Option(min=0, max=1000, help="Ablate the stem-cell heads, and other heads this many times.")
    ] = 0,
    published: Annotated[bool, typer.Option("--published", help="Put the paper's probe scores beside ours.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a comparison that is there.")] = False,
) -> None:
    """Compare runs: the paper's tables, kept heads, probes, and verdicts on its four claims.

    Examples:

    - `stemcell compare studies/small --out compared`

    - `stemcell compare runs/pos-dp runs/mtl5 --out compared`

    - `stemcell compare --filter "tags.encoder = 'minilm'" --experiment table-1 --ablate 10 --out compared`
    """
    import math
    import sys

    from stemcell.comparing.compare import Settings, compare_runs, summary
    from stemcell.errors import UserError

    if not 0 <= margin < math.inf:
        raise UserError(f"margin is {margin:g}: it must be 0 or more points, and finite")
    if not runs and condition is None:
        raise UserError("no runs: name run folders, a study's folder or MLflow ids, or give --filter")
    settings = Settings(split, samples, margin, stem_kept, stem_knows, published, ablate)
    found = compare_runs(runs or [], out, settings, condition=condition, experiment=experiment, overwrite=overwrite)
    for note in found.sources.notes:
        print(note, file=sys.stderr)
    print(summary(found))
    print(f"report: {out / 'artifacts' / 'report.html'}")
