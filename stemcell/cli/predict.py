"""``stemcell predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    run: Annotated[str, typer.Argument(help="A run: its folder or its MLflow id.")],
    source: Annotated[Path | None, typer.Argument(help="Text, one sentence a line; standard input if absent.")] = None,
    form: Annotated[str, typer.Option("--format", help="text, conllu, jsonl or brackets.")] = "text",
    pretokenized: Annotated[bool, typer.Option("--pretokenized", help="Spaces already separate the words.")] = False,
    out: Annotated[Path | None, typer.Option(help="File to write; standard output if absent.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it is there.")] = False,
) -> None:
    """Annotate sentences with a trained run.

    A blank line is an empty sentence and keeps its place. It becomes empty lists in jsonl, an empty line in brackets,
    a block of comments without words in conllu, and an empty block in text.

    Examples:

    - `echo "Mary saw the man who sold it." | stemcell predict runs/mtl5`

    - `stemcell predict runs/mtl5 sentences.txt --format conllu --out parsed.conllu`
    """
    from stemcell.analysis.files import predict_file

    predict_file(run, source, form, pretokenized=pretokenized, out=out, overwrite=overwrite)
