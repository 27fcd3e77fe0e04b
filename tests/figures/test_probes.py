import itertools

import numpy as np
import pandas as pd
from matplotlib.text import Text

from stemcell.figures.gains import gain_bars
from stemcell.figures.maps import new_figure
from stemcell.figures.names import place_names


def test_names_never_overlap_and_the_missing_ones_are_counted():
    figure = new_figure(1.5, 1.0, "crowded")
    axes = figure.subplots()
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    points = np.random.default_rng(0).random((40, 2)) * [0.1, 0.1] + 0.4
    names = [f"name{number}" for number in range(40)]
    missing = place_names(axes, names, points, np.full(40, 3.0))
    texts = [text for text in axes.texts if isinstance(text, Text)]
    assert 0 < missing < 40
    assert len(texts) == 40 - missing
    for one, other in itertools.combinations([text.get_window_extent() for text in texts], 2):
        assert not one.overlaps(other)


def test_each_gain_is_a_bar_of_its_height_with_the_most_frequent_label_on_top():
    gains = pd.DataFrame(
        {"task": "pos", "label": ["NN$", "$", "``"], "count": [5, 50, 1], "mode": "same-split",
         "gain": [0.1, -0.2, 0.0], "low": [0.0, -0.3, np.nan], "high": [0.2, -0.1, np.nan]}
    )  # fmt: skip
    (axes,) = gain_bars(gains, "gains").axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["$  50", "NN$  5", "``  1"]
    assert [bar.get_width() for bar in axes.patches] == [-0.2, 0.1, 0.0]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
