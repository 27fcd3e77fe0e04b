"""``stemcell attention``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from stemcell.errors import UserError


def command(
    target: Annotated[str, typer.Argument(help="A run, an export or an encoder (bert, minilm, a folder …).")],
    sentence: Annotated[str, typer.Argument(help="One sentence.")],
    heads: Annotated[str, typer.Option(help="Heads as layer-head from 1, separated by commas: 3-10,4-2.")],
    out: Annotated[Path, typer.Option(help="Folder for attention.png, .svg, .pdf and .csv; replaced if there.")],
    pretokenized: Annotated[bool, typer.Option("--pretokenized", help="Spaces already separate the words.")] = False,
) -> None:
    """Draw which words each chosen head attends to in one sentence.

    Examples:

    - `stemcell attention minilm --heads 3-10,4-2 --out maps "Mary saw the man."`
    """
    places = []
    for part in heads.split(","):
        found = re.fullmatch(r"\s*(\d+)-(\d+)\s*", part, re.ASCII)
        if not found:
            raise UserError(f"--heads has {part!r}: name heads as layer-head from 1, for instance 3-10,4-2")
        places.append((int(found[1]), int(found[2])))
    if out.is_file():
        raise UserError(f"{out}: is a file; give a folder as --out")
    from stemcell.analysis.files import split_spaced
    from stemcell.analysis.pipeline import split_words

    words = (split_spaced if pretokenized else split_words)(sentence)
    if not words:
        raise UserError("the sentence is empty; give one with words")
    if len(words) > 80:
        raise UserError(f"the sentence has {len(words)} words: a map has room for 80; give a shorter one")
    import numpy as np

    from stemcell.figures.attention import check_heads, word_attention, write_attention
    from stemcell.probing.target import find_target, open_heads

    model = find_target(target, {"train": {}})
    encoder = model.encoder.eval()
    places = list(dict.fromkeys(places))
    check_heads(encoder, places)
    opened = np.any([open_heads(model, task) for task in model.decoders or ["pos"]], axis=0)
    for layer, head in places:
        if not opened[layer - 1, head - 1]:
            print(f"head {layer}-{head} is closed: the model makes nothing of what it attends to", file=sys.stderr)
    write_attention(out, "attention", word_attention(encoder, words, places), words)
    print(f"attention maps: {out}")
