"""Frames and films, pixel by pixel."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageChops

from stemcell.figures.frames import BOTTOM, CELL, LEFT, LINE, RIGHT, TOP, caption, centre, film, frame


def picture(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content)).convert("L")


@pytest.mark.parametrize("shape", [(12, 12), (6, 12), (24, 16), (4, 4), (1, 1)])
def test_every_cell_has_the_grey_of_its_gate(shape: tuple[int, int]) -> None:
    values = np.random.default_rng(1).choice([0.0, 0.25, 0.5, 1.0], shape)
    image = picture(frame({"joint": values}, ""))
    assert image.size == (LEFT + shape[1] * CELL + RIGHT, TOP + shape[0] * CELL + BOTTOM)
    for (layer, head), gate in np.ndenumerate(values):
        x, y = centre(values, layer, head)
        cell = np.asarray(image)[y - CELL // 2 + 1 : y + CELL // 2, x - CELL // 2 + 1 : x + CELL // 2]
        assert (cell == round(255 * (1 - gate))).all()
        assert image.getpixel((x - CELL // 2, y)) == LINE


def test_closed_is_white_open_is_black_and_the_first_layer_is_below() -> None:
    values = np.zeros((3, 2))
    values[0, 1] = 1
    image = picture(frame({"joint": values}, ""))
    below_right = LEFT + CELL + CELL // 2, TOP + 2 * CELL + CELL // 2
    above_left = LEFT + CELL // 2, TOP + CELL // 2
    assert centre(values, 0, 1) == below_right
    assert image.getpixel(below_right) == 0
    assert image.getpixel(above_left) == 255


def test_sets_stand_side_by_side() -> None:
    values = {"pos": np.zeros((2, 3)), "ner": np.ones((2, 3)), "dep": np.eye(2, 3)}
    image = picture(frame(values, ""))
    each = LEFT + 3 * CELL + RIGHT
    assert image.width == 3 * each
    for i, gates in enumerate(values.values()):
        for (layer, head), gate in np.ndenumerate(gates):
            x, y = centre(gates, layer, head)
            assert image.getpixel((x + i * each, y)) == 255 * (1 - gate)


def test_captions_are_never_cut_and_change_nothing_else() -> None:
    values = {"joint": np.eye(2)}
    long = "joint · step 123,456 · 41 of 72 heads kept " * 3
    plain, titled = picture(frame(values, "")), picture(frame(values, long))
    ink = ImageChops.invert(titled.crop((0, 0, titled.width, 40))).getbbox()
    assert ink is not None
    assert ink[2] <= titled.width - RIGHT + 2
    below = (0, 40, plain.width, plain.height)
    assert ImageChops.difference(plain.crop(below), titled.crop(below)).getbbox() is None


def test_same_gates_same_bytes_and_none_is_an_error() -> None:
    values = {"joint": np.linspace(0, 1, 144).reshape(12, 12)}
    assert frame(values, "step 1") == frame(values, "step 1") != frame(values, "step 2")
    with pytest.raises(ValueError, match="at least one"):
        frame({}, "")


def test_captions_count_by_the_threshold() -> None:
    values = {"joint": np.array([[0.0, 1e-3, 0.2, 0.9]])}
    assert caption(values, 1200) == "joint · step 1,200 · 2 of 4 heads kept"
    assert caption(values, 1200, 0.5) == "joint · step 1,200 · 1 of 4 heads kept"
    assert caption({"pos": np.ones((2, 2)), "ner": np.eye(2)}, 3) == "step 3 · pos 4, ner 2 of 4 heads kept"


def test_a_film_shows_every_frame_in_order_and_holds_the_last() -> None:
    steps = [{"joint": np.full((2, 2), gate)} for gate in (1.0, 0.75, 0.5, 0.0)]
    frames = [frame(values, f"step {i}") for i, values in enumerate(steps)]
    content = film(frames)
    assert content == film(frames)
    with Image.open(io.BytesIO(content)) as moving:
        assert moving.format == "PNG"
        assert (moving.n_frames, moving.info["loop"]) == (4, 0)
        durations = []
        for i, still in enumerate(frames):
            moving.seek(i)
            durations.append(moving.info["duration"])
            assert ImageChops.difference(moving.convert("L"), picture(still)).getbbox() is None
    assert durations[0] == durations[1] == durations[2] < durations[3]


def test_a_film_of_different_sizes_is_as_large_as_the_largest() -> None:
    wide, high = frame({"joint": np.ones((2, 8))}, "a"), frame({"joint": np.ones((8, 2))}, "b")
    with Image.open(io.BytesIO(film([wide, high]))) as moving:
        assert moving.size == (picture(wide).width, picture(high).height)
        moving.seek(1)
        shown = moving.convert("L")
    still = picture(high)
    assert ImageChops.difference(shown.crop((0, 0, *still.size)), still).getbbox() is None
    assert shown.crop((still.width, 0, *shown.size)).getextrema() == (255, 255)


def test_films_of_one_frame_and_of_none() -> None:
    only = frame({"joint": np.eye(2)}, "")
    assert ImageChops.difference(picture(film([only])), picture(only)).getbbox() is None
    with pytest.raises(ValueError, match="at least one"):
        film([])
