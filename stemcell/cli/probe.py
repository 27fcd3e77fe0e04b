"""``stemcell probe``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stemcell.cli.streams import keep_working
from stemcell.errors import UserError


def command(
    targets: Annotated[
        list[str], typer.Argument(metavar="TARGET...", help="Runs, exports or encoders (bert, minilm, a folder …).")
    ],
    data: Annotated[Path | None, typer.Option(help="Corpus folder; by default the run's own.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the tables; of several targets each has a folder in it.")
    ] = None,
    split: Annotated[str, typer.Option(help="train, dev or test.")] = "test",
    tasks: Annotated[str | None, typer.Option(help="Some of the tasks, separated by commas.")] = None,
    samples: Annotated[int, typer.Option(min=0, help="Bootstrap samples for the intervals.")] = 200,
    baseline: Annotated[
        str | None, typer.Option(help="untrained: the same architecture with random weights beside it, three seeds.")
    ] = None,
    con_height: Annotated[
        str, typer.Option(help="Height of the constituents: 3 (above preterminals only, the paper's), 4 … or all.")
    ] = "3",
    batch_sentences: Annotated[int, typer.Option(min=1, help="Sentences in a batch at most.")] = 32,
    batch_tokens: Annotated[int, typer.Option(min=1, help="Subtokens in a batch at most.")] = 2048,
    precision: Annotated[str, typer.Option(help="Mixed precision: no, bf16 or fp16.")] = "no",
    figures: Annotated[bool, typer.Option("--figures", help="Draw figures too, for a minute or two.")] = False,
    label: Annotated[
        list[str] | None, typer.Option(help="Draw this label's heat map, as dep:nsubj; may be given several times.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace tables that are there.")] = False,
) -> None:
    """Ask every attention head what it knows of every label; nothing is trained.

    A run that is probed on its own corpus keeps what is found, and MLflow shows it there.

    Examples:

    - `stemcell probe minilm --data ewt --baseline untrained --out probes`

    - `stemcell probe runs/mtl5 --split dev --tasks dep,srl`

    - `stemcell probe runs/pos-dp runs/mtl5 --tasks pos --out probes`
    """
    from stemcell.probing.record import probe_target
    from stemcell.probing.table import best_table
    from stemcell.training.processes import rank

    if (figures or label) and out is None:
        raise UserError("figures need a folder to be drawn into: name one with --out")
    shown = [_label(text) for text in label or ()]
    folders = _folders(out, targets)
    names = [name.strip() for name in tasks.split(",")] if tasks else None
    height = _height(con_height)
    keep_working()
    for target, folder in zip(targets, folders, strict=True):
        found = probe_target(
            target,
            data,
            folder,
            split=split,
            tasks=names,
            figures=figures,
            shown=shown,
            overwrite=overwrite,
            samples=samples,
            baseline=baseline,
            con_height=height,
            sentences=batch_sentences,
            tokens=batch_tokens,
            precision=precision,
        )
        if rank() == 0:
            print(best_table(found.labels))
            print(f"probes: {folder or target}")


def _folders(out: Path | None, targets: list[str]) -> list[Path | None]:
    """Where the tables of each target go."""
    if out is None or len(targets) == 1:
        return [out] * len(targets)
    names = [Path(target).name for target in targets]
    if double := next((name for name in names if names.count(name) > 1), None):
        raise UserError(f"two targets are called {double}, and so would be their folders; probe them one after another")
    return [out / name for name in names]


def _label(text: str) -> tuple[str, str]:
    task, colon, label = text.partition(":")
    if not colon or not label:
        raise UserError(f"--label is {text}: name task and label, as dep:nsubj")
    return task, label


def _height(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdigit() or int(text) < 3:
        raise UserError(f"--con-height is {text}: it must be a whole number from 3, or all")
    return int(text)
