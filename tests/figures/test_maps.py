"""Figures of maps: their colours, their texts, and that nothing lies on anything else."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from stemcell.errors import UserError
from stemcell.figures import maps
from stemcell.heads.overlap import overlap

SHAPES = [(12, 12), (6, 12)]
TASKS = ("pos", "ner", "dep", "con", "srl")


def random_gates(shape: tuple[int, int], seed: int = 0) -> np.ndarray:
    return np.clip(np.random.default_rng(seed).uniform(-0.5, 1.5, shape), 0, 1)


def random_masks(shape: tuple[int, int], names: tuple[str, ...]) -> dict[str, np.ndarray]:
    return {name: random_gates(shape, seed) > 0.3 for seed, name in enumerate(names)}


def pairs(masks: dict[str, np.ndarray]) -> dict[tuple[str, str], Any]:
    return {(a, b): overlap(masks[a], masks[b]) for a, b in itertools.combinations(masks, 2)}


def every_figure(shape: tuple[int, int]) -> dict[str, Figure]:
    gates = {task: random_gates(shape, seed) for seed, task in enumerate(TASKS)}
    masks = random_masks(shape, (*TASKS, "MTL-5 (l0-penalty 0.001)"))
    three = random_masks(shape, ("seed 1", "seed 2", "seed 3"))
    alone = {"joint": gates["pos"]}
    return {
        "map": maps.gate_map(alone, {"joint": alone["joint"] > 1e-3}, "bert-pos-seed1"),
        "sets": maps.gate_map(gates, {task: values > 1e-3 for task, values in gates.items()}, "bert-mtl5"),
        "rgb": maps.three_runs(three, "pos"),
        "average": maps.average(list(gates.values()), "mean gate"),
        "layers": maps.layers({name: [mask, ~mask] for name, mask in masks.items()}, "kept heads"),
        "overlap": maps.overlaps(list(masks), pairs(masks), "overlap"),
    }


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_visible() and text.get_text()]


@pytest.mark.parametrize("shape", SHAPES)
def test_no_text_lies_on_another_or_outside(shape: tuple[int, int]) -> None:
    for name, figure in every_figure(shape).items():
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()
        boxes = []
        for axes in figure.axes:
            if not axes.get_visible():
                continue
            shown = [*axes.texts, axes.title, axes.xaxis.label, axes.yaxis.label]
            # Turned labels only seem to overlap: their boxes are upright.
            shown += [t for t in (*axes.get_xticklabels(), *axes.get_yticklabels()) if t.get_rotation() == 0]
            boxes += [(t.get_text(), t.get_window_extent(renderer)) for t in shown if t.get_text() and t.get_visible()]
        boxes += [(t.get_text(), t.get_window_extent(renderer)) for t in figure.texts if t.get_text()]
        boxes += [
            (t.get_text(), t.get_window_extent(renderer)) for legend in figure.legends for t in legend.get_texts()
        ]
        assert len(boxes) >= shape[0]
        width, height = figure.canvas.get_width_height()
        for text, box in boxes:
            assert box.x0 >= -1, (name, text)
            assert box.y0 >= -1, (name, text)
            assert box.x1 <= width + 1, (name, text)
            assert box.y1 <= height + 1, (name, text)
        for (one, first), (other, second) in itertools.combinations(boxes, 2):
            assert not first.padded(-0.5).overlaps(second.padded(-0.5)), (name, one, other)


def test_three_runs_take_a_channel_each() -> None:
    masks = [np.array(row, bool)[None] for row in zip(*itertools.product((0, 1), repeat=3), strict=True)]
    names = {
        (0, 0, 0): "white", (1, 0, 0): "cyan", (0, 1, 0): "magenta", (0, 0, 1): "yellow",
        (1, 1, 0): "blue", (1, 0, 1): "lime", (0, 1, 1): "red", (1, 1, 1): "black",
    }  # fmt: skip
    from matplotlib.colors import to_rgb

    colours = maps.overlay(masks)
    for column, pattern in enumerate(itertools.product((0, 1), repeat=3)):
        assert tuple(colours[0, column]) == to_rgb(names[pattern])


def test_the_legend_explains_and_counts_every_colour() -> None:
    masks = random_masks((6, 12), ("seed 1", "seed 2", "seed 3"))
    one, two, three = masks.values()
    figure = maps.three_runs(masks, "pos")
    (legend,) = figure.legends
    shown = {
        text.get_text().split(":")[0]: (int(text.get_text().split(":")[1]), patch.get_facecolor()[:3])
        for text, patch in zip(legend.get_texts(), legend.get_patches(), strict=True)
    }
    assert shown == {
        "seed 1 alone": ((one & ~two & ~three).sum(), (0, 1, 1)),
        "seed 2 alone": ((~one & two & ~three).sum(), (1, 0, 1)),
        "seed 3 alone": ((~one & ~two & three).sum(), (1, 1, 0)),
        "seed 1 and seed 2": ((one & two & ~three).sum(), (0, 0, 1)),
        "seed 1 and seed 3": ((one & ~two & three).sum(), (0, 1, 0)),
        "seed 2 and seed 3": ((~one & two & three).sum(), (1, 0, 0)),
        "all three": ((one & two & three).sum(), (0, 0, 0)),
        "none": ((~one & ~two & ~three).sum(), (1, 1, 1)),
    }
    with pytest.raises(ValueError):
        maps.three_runs(dict(list(masks.items())[:2]), "pos")


def test_a_map_is_grey_with_the_first_layer_below() -> None:
    gates = np.array([[1.0, 0.0], [0.25, 0.9999], [0.0, 0.0]])
    figure = maps.gate_map({"joint": gates}, {"joint": gates > 1e-3}, "a run")
    (axes,) = figure.axes
    (image,) = axes.images
    assert image.origin == "lower"
    assert np.allclose(np.asarray(image.get_array()), 1 - gates[..., None])
    placed = {tuple(text.get_position()): text.get_text() for text in axes.texts}
    assert placed == {(0, 1): ".25", (1, 1): "≈1", (1.7, 0): "1", (1.7, 1): "2", (1.7, 2): "0"}
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1", "2", "3"]
    assert axes.get_title() == "joint: 3 of 6 heads kept"


def test_the_average_is_the_mean_gate() -> None:
    values = [np.array([[0.0, 1.0]]), np.array([[0.5, 1.0]])]
    image = maps.average(values, "mean").axes[0].images[0]
    assert np.allclose(np.asarray(image.get_array())[0, :, 0], [0.75, 0])


def test_layers_are_bars_of_means_and_dots_of_runs() -> None:
    runs = [np.array([[1, 1, 0], [0, 0, 0]], bool), np.array([[1, 1, 1], [1, 0, 0]], bool)]
    figure = maps.layers({"pos": runs, "ner": runs[:1]}, "kept heads")
    pos, ner = figure.axes
    assert [bar.get_width() for bar in pos.patches] == [2.5, 0.5]
    assert [list(line.get_xdata()) for line in pos.lines] == [[2, 0], [3, 1]]
    assert not ner.lines
    assert [axes.get_title() for axes in (pos, ner)] == ["pos\n3 of 6 heads", "ner\n2 of 6 heads"]


def test_overlaps_name_counts_and_chance() -> None:
    masks = {"pos": np.array([[1, 1, 0, 0]], bool), "ner": np.array([[1, 1, 1, 0]], bool), "dep": np.eye(1, 4) > 0}
    shown = texts(maps.overlaps(list(masks), pairs(masks), "overlap"))
    assert "0.67\n2 / 1.5\np = 0.500" in shown
    assert "0.50\n1 / 0.5\np = 0.500" in shown
    assert "0.33\n1 / 0.8\np = 0.750" in shown
    assert {"2\nkept", "3\nkept", "1\nkept"} < set(shown)
    assert maps.probability(0.00099) == "p < 0.001"


def test_saved_figures_are_whole_and_the_same_again(tmp_path: Path) -> None:
    masks = random_masks((6, 12), ("seed 1", "seed 2", "seed 3"))
    for folder in ("one", "two"):
        written = maps.save(maps.three_runs(masks, "pos"), tmp_path / folder, "rgb")
        assert [path.name for path in written] == ["rgb.png", "rgb.svg", "rgb.pdf"]
    for path in written:
        assert path.read_bytes() == (tmp_path / "one" / path.name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "two").iterdir()) == ["rgb.pdf", "rgb.png", "rgb.svg"]
    with Image.open(tmp_path / "one" / "rgb.png") as image:
        assert image.width > image.height
    assert b"<dc:date>" not in (tmp_path / "one" / "rgb.svg").read_bytes()
    assert b"CreationDate" not in (tmp_path / "one" / "rgb.pdf").read_bytes()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(UserError, match=r"average\.png: the disk is full"):
        maps.save(maps.average([np.eye(2)], "mean"), tmp_path, "average")
    assert list(tmp_path.iterdir()) == []


def test_neither_window_nor_global_state() -> None:
    code = (
        "import sys, numpy as np; from pathlib import Path; from stemcell.figures import maps; "
        "assert 'matplotlib' not in sys.modules; maps.average([np.eye(2)], 'mean'); "
        "assert 'matplotlib.pyplot' not in sys.modules; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
