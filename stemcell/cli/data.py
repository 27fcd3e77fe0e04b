"""``stemcell data``: check a corpus, or make one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stemcell.errors import UserError, suggested
from stemcell.files import staging

if TYPE_CHECKING:
    from stemcell.corpora.statistics import Statistics

app = typer.Typer(help="Check a corpus, or make one.", no_args_is_help=True)

Out = Annotated[Path, typer.Option("--out", help="The folder to write the corpus to.", show_default=False)]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the corpus that is already there.")]


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The corpus folder.", show_default=False)],
    pos_column: Annotated[str, typer.Option(help="Column of CoNLL-U with the tags: xpos or upos.")] = "xpos",
    skip_broken: Annotated[
        bool, typer.Option("--skip-broken", help="Leave broken sentences out and count them.")
    ] = False,
) -> None:
    """Validate every file of a corpus and print what it holds, or what is wrong with it (exit code 2).

    Examples:

    - `stemcell data check demo`

    - `stemcell data check demo --pos-column upos`
    """
    from stemcell.corpora import folder as folders
    from stemcell.corpora.report import Report
    from stemcell.corpora.statistics import statistics, unseen

    report = Report()
    sources = folders.find(folder, report)
    corpus = folders.read(sources, report, pos_column=pos_column, skip_broken=skip_broken)
    layers = folders.present(corpus, sources)
    lengths = {split: {layer: len(examples) for layer, examples in of.items()} for split, of in corpus.items()}
    if not report.problems:
        # Where files are broken, that their sentences are missing is no news.
        folders.require(folder, sources, lengths, layers, report, pos_column=pos_column)
    if not report.problems and not layers:
        report.problem(folder, 0, "empty", "no sentence in any file", "give files with sentences")
    if report.problems:
        count = len(report.problems)
        lines = "\n".join(report.lines())
        raise UserError(f"{count} problem{'s' if count > 1 else ''} in {folder}\n{lines}")
    table = statistics(corpus)
    for what, number in report.notes.items():
        print(f"note: {what}: {number:,}")
    for (split, layer), labels in unseen(table).items():
        print(f"note: {split}: labels of {layer.upper()} unseen in train: {' '.join(labels)}")
    _print_table(table)


@app.command()
def demo(out: Out, overwrite: Overwrite = False) -> None:
    """Write the built-in corpus: English sentences from a grammar, with all five layers.

    Examples:

    - `stemcell data demo --out demo`
    """
    from stemcell.corpora.demo import write_demo

    _make(out, overwrite, write_demo)


@app.command()
def ewt(
    out: Out,
    source: Annotated[
        Path | None, typer.Option(help="Local copies of the three repositories; else they are cloned.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Build the English Web Treebank with all five layers from its three public repositories.

    Examples:

    - `stemcell data ewt --out ewt`

    - `stemcell data ewt --source clones --out ewt`
    """
    from stemcell.corpora.ewt import build

    _make(out, overwrite, lambda folder: build(folder, source))


@app.command()
def ontonotes(
    source: Annotated[
        Path, typer.Option(help="CoNLL-2012 files with CoNLL-X dependencies beside.", show_default=False)
    ],
    out: Out,
    overwrite: Overwrite = False,
) -> None:
    """Build a corpus from a CoNLL-2012 release of OntoNotes 5 and dependencies converted from it.

    Examples:

    - `stemcell data ontonotes --source conll-formatted-ontonotes-5.0 --out ontonotes`
    """
    from stemcell.corpora.ontonotes import build

    _make(out, overwrite, lambda folder: build(source, folder))


def _make(out: Path, overwrite: bool, build: Callable[[Path], object]) -> None:
    """Build into a folder beside ``out`` and move its entries there, so that a failure leaves ``out`` as it was."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file; give a folder")
    if out.is_dir() and any(out.iterdir()) and not overwrite:
        raise UserError(f"{out} is already there; give another folder, or --overwrite to replace the corpus in it")
    out = out.absolute()
    try:
        with staging(out) as partial:
            partial.mkdir()
            build(partial)
            out.mkdir(parents=True, exist_ok=True)
            # Only what the new corpus has is replaced: whatever else lies in the folder is not ours to delete.
            for entry in partial.iterdir():
                old = out / entry.name
                if old.is_dir():
                    shutil.rmtree(old)
                entry.replace(old)
    except OSError as error:
        raise UserError(
            f"cannot write {out} ({error.strerror or error}); free some space, or give another folder"
        ) from error
    print(f"wrote {out}; look at it with: {suggested('data', 'check', out)}")


def _print_table(table: list[Statistics]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not console.is_terminal:
        console = Console(width=120)  # A pipe has no width of its own, and rich would fold the table at 80.
    printed = Table(box=SIMPLE_HEAD)
    printed.add_column("task")
    printed.add_column("split")
    for name in ("sentences", "tokens", "longest", "labels"):
        printed.add_column(name, justify="right")
    printed.add_column("items")
    for i, row in enumerate(table):
        items = ", ".join(f"{count:,} {name}" for name, count in row.items.items())
        figures = [f"{n:,}" for n in (row.sentences, row.tokens, row.longest, len(row.labels))]
        last = i + 1 == len(table) or table[i + 1].layer != row.layer
        printed.add_row(row.layer.upper(), row.split, *figures, items, end_section=last)
    console.print(printed)
