"""Pictures of gates, quick enough for every evaluation of a training run, and the film that they make.

As in all maps here, a row is a layer and a column a head, both counted from 1; **layer 1 is at the bottom**, where the
words come in. White is a closed gate (0), black an open one (1), grey lies between in proportion.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from PIL import ImageFont
    from PIL.Image import Image

CELL = 28
"""Pixels from one cell to the next; one of them is the line between them."""
LEFT, TOP, RIGHT, BOTTOM = 52, 62, 16, 42
"""Pixels around each set's cells: for layer numbers, titles, and head numbers."""
LINE, INK = 205, 40
_SHOWN, _HELD, _LONGEST = 400, 3000, 15_000


def frame(values_by_set: Mapping[str, np.ndarray], caption: str) -> bytes:
    """A picture of evaluation gates, the sets side by side.

    Args:
        values_by_set: gates from 0 to 1 by set (``joint``, or a task), [layers, heads] each.
        caption: the line above, such as ``joint · step 120 · 41 of 72 heads kept``; the picture is as wide as it needs.

    Returns:
        A grey PNG; cell (layer, head) of the first set is around :func:`centre`. Equal arguments give equal bytes.

    Raises:
        ValueError: if there is no set.
    """
    from PIL import Image, ImageDraw

    if not values_by_set:
        raise ValueError("a frame needs at least one set of gates")
    offsets = []
    width = 0
    for values in values_by_set.values():
        offsets.append(width)
        width += LEFT + values.shape[1] * CELL + RIGHT
    height = TOP + max(values.shape[0] for values in values_by_set.values()) * CELL + BOTTOM
    width = max(width, round(_font(15).getlength(caption)) + 2 * RIGHT)
    image = Image.new("L", (width, height), 255)
    draw = ImageDraw.Draw(image)
    draw.text((RIGHT, 20), caption, INK, _font(15), "lm")
    for (name, values), offset in zip(values_by_set.items(), offsets, strict=True):
        layers, heads = values.shape
        # One set needs no title: the caption names it.
        title = name if len(values_by_set) > 1 else ""
        draw.text((offset + LEFT, TOP - 14), title, INK, _font(14), "lm")
        _cells(image, values, offset)
        for layer in range(layers):
            _, y = centre(values, layer, 0)
            draw.text((offset + LEFT - 8, y), str(layer + 1), INK, _font(13), "rm")
        for head in range(heads):
            x, y = centre(values, 0, head)
            draw.text((offset + x, y + CELL / 2 + 10), str(head + 1), INK, _font(13), "mm")
        draw.text((offset + LEFT + heads * CELL / 2, TOP + layers * CELL + 30), "head", INK, _font(13), "mm")
        draw.text((offset + 6, TOP - 14), "layer", INK, _font(13), "lm")
    return _png(image)


def centre(values: np.ndarray, layer: int, head: int) -> tuple[int, int]:
    """The pixel (x, y) in the middle of a cell, counted from 0, of the first set of a frame; others follow."""
    return LEFT + head * CELL + CELL // 2, TOP + (len(values) - 1 - layer) * CELL + CELL // 2


def film(frames: Sequence[bytes]) -> bytes:
    """One animated PNG of the frames in order, without end; the last one is held for three seconds.

    Frames of different sizes are filled up with white. Frames that are the same pixel by pixel are one, shown longer.

    Args:
        frames: PNGs as :func:`frame` makes them.

    Raises:
        ValueError: if there is none.
    """
    from PIL import Image

    if not frames:
        raise ValueError("a film needs at least one frame")
    images = [Image.open(io.BytesIO(content)).convert("L") for content in frames]
    size = max(image.width for image in images), max(image.height for image in images)
    for i, image in enumerate(images):
        if image.size != size:
            images[i] = Image.new("L", size, 255)
            images[i].paste(image)
    # A long history is shown faster, down to what an eye can follow.
    each = max(40, min(_SHOWN, _LONGEST // len(images)))
    durations = [each] * (len(images) - 1) + [_HELD]
    return _png(images[0], save_all=True, append_images=images[1:], duration=durations, loop=0)


def _cells(image: Image, values: np.ndarray, offset: int) -> None:
    """Paint the cells, with lines around them."""
    from PIL import Image

    layers, heads = values.shape
    grey = np.rint(255 * (1 - np.clip(values[::-1], 0, 1))).astype(np.uint8)
    pixels = np.full((layers * CELL + 1, heads * CELL + 1), LINE, np.uint8)
    for row, column in np.ndindex(layers, heads):
        pixels[row * CELL + 1 : (row + 1) * CELL, column * CELL + 1 : (column + 1) * CELL] = grey[row, column]
    image.paste(Image.fromarray(pixels), (offset + LEFT, TOP))


@functools.cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    from PIL import ImageFont

    # Pillow brings this one along, so that pictures are the same everywhere.
    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


def _png(image: Image, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", **options)  # type: ignore[arg-type]
    return buffer.getvalue()
