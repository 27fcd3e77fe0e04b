from __future__ import annotations

import json

import pytest

from stemcell.corpora.formats import conll12
from stemcell.corpora.layers import Argument, Frames, example_row, to_row
from stemcell.corpora.report import Report
from stemcell.tasks.srl import TASK
from stemcell.tasks.srl.score import joined
from tests.tasks.sentences import example


def frames(*arguments, predicates=None):
    found = tuple(sorted(Argument(*argument) for argument in arguments))
    return Frames(predicates or tuple(sorted({argument.predicate for argument in found})), found)


def compute(gold, predicted):
    references = [example_row("srl", example(30, one)) for one in gold]
    return TASK.metric().compute(predictions=[to_row("srl", one) for one in predicted], references=references)


def test_predicate_span_and_role_must_agree():
    gold = frames((2, 0, 1, "ARG0"), (2, 3, 5, "ARG1"), (4, 5, 5, "ARGM-XYZ"))
    predicted = frames((2, 0, 1, "ARG0"), (2, 3, 4, "ARG1"), (4, 5, 5, "ARG1"), (7, 0, 1, "ARG0"))
    result = compute([gold], [predicted])
    assert (result["precision"], result["recall"], result["f1"]) == pytest.approx((1 / 4, 1 / 3, 2 / 7))
    assert (result["predicate_precision"], result["predicate_recall"]) == pytest.approx((2 / 3, 1))
    rows = {row["label"]: (row["gold"], row["predicted"], row["correct"]) for row in result["labels"]}
    assert rows == {"ARG0": (1, 2, 1), "ARG1": (1, 2, 0), "ARGM-XYZ": (1, 0, 0)}


def test_conll_count_joins_pieces_and_ignores_predicates_that_gold_lacks():
    gold = frames((2, 0, 1, "ARG1"), (2, 3, 5, "C-ARG1"), (2, 7, 7, "R-ARG1"))
    half = frames((2, 0, 1, "ARG1"), (2, 7, 7, "R-ARG1"), (6, 7, 7, "ARG0"))
    result = compute([gold], [half])
    assert result["f1"] == pytest.approx(4 / 6)
    assert (result["conll_precision"], result["conll_recall"]) == (1 / 2, 1 / 2)


def test_conll_count_punishes_arguments_of_a_gold_predicate_without_any():
    result = compute([frames((2, 0, 1, "ARG0"), predicates=(2, 6))], [frames((2, 0, 1, "ARG0"), (6, 7, 7, "ARG1"))])
    assert (result["conll_precision"], result["conll_recall"]) == (1 / 2, 1)


def test_pieces_continue_the_last_argument_of_their_role():
    found = joined(
        frames(
            (9, 0, 0, "C-ARG1"),  # an orphan: an ARG1 of its own, which later pieces continue
            (9, 1, 1, "C-ARG1"),
            (9, 2, 3, "ARG1"),
            (9, 4, 4, "ARG0"),
            (9, 5, 5, "C-ARG1"),
            (9, 6, 6, "C-R-ARG0"),
            (9, 7, 7, "C-V"),
            (8, 7, 7, "C-ARG0"),
        )
    )
    assert found == {
        (9, "ARG1", ((0, 0), (1, 1))),
        (9, "ARG1", ((2, 3), (5, 5))),
        (9, "ARG0", ((4, 4),)),
        (9, "R-ARG0", ((6, 6),)),
        (8, "ARG0", ((7, 7),)),
    }


def test_no_frames_at_all_gives_zero():
    result = compute([Frames((), ())], [Frames((), ())])
    assert {value for name, value in result.items() if name != "labels"} == {0.0}


@pytest.mark.shared
def test_equals_srl_eval(shared):
    gold, predicted = (
        conll12.read(shared / "golden" / f"srl.{side}.conll12", Report())["srl"] for side in ("gold", "pred")
    )
    result = TASK.metric().compute(
        predictions=[to_row("srl", example.gold) for example in predicted],
        references=[example_row("srl", example) for example in gold],
    )
    expected = json.loads((shared / "golden" / "expected.json").read_text())["srl (srl-eval.pl, C- joined)"]
    for name in ("precision", "recall", "f1"):
        assert round(100 * result[f"conll_{name}"], 2) == expected[name]
    pieces = [
        ({item for item in joined(guess.gold) if item[0] in truth.gold.predicates}, joined(truth.gold))
        for guess, truth in zip(predicted, gold, strict=True)
    ]
    assert sum(len(a & b) for a, b in pieces) == expected["correct"]
    assert sum(len(a - b) for a, b in pieces) == expected["excess"]
    assert sum(len(b - a) for a, b in pieces) == expected["missed"]
