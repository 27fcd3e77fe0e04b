from __future__ import annotations

import pytest

from stemcell.corpora.layers import example_row, to_row
from stemcell.tasks.pos import TASK
from tests.tasks.sentences import example


def compute(gold, predicted):
    references = [example_row("pos", example(len(tags), tags)) for tags in gold]
    return TASK.metric().compute(predictions=[to_row("pos", tags) for tags in predicted], references=references)


def test_accuracy_and_rows():
    # FW was never seen in training, so it is never predicted: it stays in the denominator, as wrong.
    result = compute([("DT", "NN"), ("FW", "NN", "VB")], [("DT", "NN"), ("NN", "NN", "DT")])
    assert result["accuracy"] == pytest.approx(3 / 5)
    rows = {row["label"]: (row["gold"], row["predicted"], row["correct"]) for row in result["labels"]}
    assert rows == {"DT": (1, 2, 1), "FW": (1, 0, 0), "NN": (2, 3, 2), "VB": (1, 0, 0)}
    assert next(row for row in result["labels"] if row["label"] == "NN")["f1"] == pytest.approx(2 * 2 / 5)


def test_a_sentence_of_another_length_is_an_error():
    with pytest.raises(ValueError, match="argument"):
        compute([("DT", "NN")], [("DT",)])


def test_words_without_a_gold_tag_are_not_scored():
    result = compute([("DT", "_", "NN")], [("DT", "VB", "VB")])
    assert result["accuracy"] == 1 / 2
    rows = {row["label"]: (row["gold"], row["predicted"], row["correct"]) for row in result["labels"]}
    assert rows == {"DT": (1, 1, 1), "NN": (1, 0, 0), "VB": (0, 1, 0)}
    assert TASK.counts({"tags": ["DT", "VB", "VB"]}, {"tags": ["DT", "_", "NN"]}) == (1, 2)
