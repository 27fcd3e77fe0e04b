"""Attention maps of one sentence for chosen heads, as figures and as numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from stemcell.errors import UserError
from stemcell.figures.maps import LINE, colour_bar, new_figure, save
from stemcell.files import write_atomic
from stemcell.probing.capture import capture
from stemcell.probing.words import word_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

    from stemcell.encoders.words import WordEncoder

Head = tuple[int, int]


def check_heads(encoder: WordEncoder, heads: Sequence[Head]) -> None:
    """Check that heads are there.

    Raises:
        UserError: if the encoder never had one, or it was removed.
    """
    kept, width = encoder.kept_heads, encoder.hidden // encoder.head_size
    for layer, head in heads:
        if not (1 <= layer <= len(kept) and 1 <= head <= width):
            raise UserError(f"no head {layer}-{head}: there are layers 1 to {len(kept)}, with heads 1 to {width}")
        if head - 1 not in kept[layer - 1]:
            raise UserError(f"head {layer}-{head} was removed; choose one that is left")


@torch.inference_mode()
def word_attention(encoder: WordEncoder, words: Sequence[str], heads: Sequence[Head]) -> dict[Head, np.ndarray]:
    """Attention between the words of a sentence: to a word the sum, from a word the mean over its subtokens.

    Special tokens are left out, so that rows add up to less than 1; words in another window get 0 (docs/method.md,
    section 6).

    Args:
        encoder: in evaluation mode.
        words: of one sentence.
        heads: layer and head from 1, as numbered before any head was removed; all of them there.

    Returns:
        By head, [words, words], from the row's word to the column's.
    """
    device = next(encoder.parameters()).device
    sentence = encoder.tokenize(words)
    batch = encoder.collate([sentence], [words])
    where = word_map(batch, [sentence], device)
    kept = encoder.kept_heads
    found: dict[Head, np.ndarray] = {}

    def see(layer: int, weights: Tensor) -> None:
        wanted = [head for head in heads if head[0] == layer + 1]
        if not wanted:
            return
        attention = where.attention(weights)
        means = attention / where.read.sum(-1).clamp(min=1)[:, None, :, None]
        places = torch.arange(1, len(words) + 1, device=device)
        rows = means[where.home[0, places], :, places]
        for head in wanted:
            found[head] = rows[:, kept[layer].index(head[1] - 1), 1 : len(words) + 1].cpu().numpy()

    with capture(encoder, see):
        encoder(batch.to(device))
    return {head: found[head] for head in heads}


def attention_maps(maps: Mapping[Head, np.ndarray], words: Sequence[str], title: str) -> Figure:
    """A panel a head: from the word of the row to the word of the column, white 0 to black 1.

    Args:
        maps: of :func:`word_attention`.
        words: of the sentence.
        title: of the figure.
    """
    columns = min(3, len(maps))
    rows = -(-len(maps) // columns)
    side = 0.9 + 0.24 * len(words)
    figure = new_figure(columns * side + 1.0, rows * (side + 0.3) + 0.4, title)
    grid = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for axes in grid[len(maps) :]:
        axes.set_visible(False)
    for axes, ((layer, head), values) in zip(grid, maps.items(), strict=False):
        axes.imshow(values, cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
        axes.set_xticks(range(len(words)), words, fontsize=7, rotation=90, parse_math=False)
        axes.set_yticks(range(len(words)), words, fontsize=7, parse_math=False)
        axes.tick_params(length=0)
        axes.spines[:].set_color(LINE)
        axes.set_title(f"layer {layer}, head {head}", fontsize=9)
    colour_bar(figure, grid[: len(maps)], "Greys", "attention from row to column")
    return figure


def write_attention(folder: Path, name: str, maps: Mapping[Head, np.ndarray], words: Sequence[str]) -> list[Path]:
    """Write ``NAME.png``, ``.svg``, ``.pdf`` and the numbers as ``NAME.csv``.

    Raises:
        UserError: if the disk is full or the folder may not be written.
    """
    buffer = io.StringIO()
    table = csv.writer(buffer, lineterminator="\n")
    table.writerow(["layer", "head", "from", "from_word", "to", "to_word", "attention"])
    for (layer, head), values in maps.items():
        for (start, end), value in np.ndenumerate(values):
            table.writerow([layer, head, start + 1, words[start], end + 1, words[end], float(value)])
    write_atomic(folder / f"{name}.csv", buffer.getvalue())
    return [*save(attention_maps(maps, words, " ".join(words)), folder, name), folder / f"{name}.csv"]
