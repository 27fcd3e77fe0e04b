from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcell.corpora.formats import brackets
from stemcell.corpora.layers import Constituents, Span
from stemcell.corpora.report import Report
from stemcell.tasks.con.binary import binarise, debinarise

TREES = {
    "one word": "(TOP (X (NFP ***)))",
    "no constituent": "(TOP (UH Yes))",
    "several children of TOP": "(TOP (NP (NN a)) (: -) (NP (NN b)))",
    "words alone under TOP": "(TOP (UH a) (UH b) (UH c))",
    "two words": "(TOP (NP (DT a) (NN b)))",
    "unary chains": "(TOP (S (VP (VP (VB go) (S (VP (VB see)))) (PRT (ADVP (RP out))))))",
    "repeated": "(TOP (NP (NP (NN a))))",
    "four children": "(TOP (S (A (X a)) (X b) (C (X c) (X d)) (X e)))",
    "odd labels": "(TOP (A+B (%2B (X|<> (A|<>+%7C<> (X a) (Y b)) (Z c)))))",
}


def preorder(tree: Constituents) -> list:
    return sorted(binarise(tree), key=lambda cell: (cell.start, -cell.end))


def check(tree: Constituents) -> None:
    cells, words = preorder(tree), len(tree.tags)
    spans = {(cell.start, cell.end) for cell in cells}
    assert len(cells) == len(spans) == 2 * words - 1
    assert words > 50 or not any(a < c < b < d for a, b in spans for c, d in spans)
    assert debinarise(cells, words) == Constituents(("_",) * words, tree.brackets)


@pytest.mark.parametrize("text", TREES.values(), ids=TREES)
def test_there_and_back(text):
    check(brackets.parse(text)[1])


def test_left_binarised():
    cells = preorder(brackets.parse(TREES["four children"])[1])
    assert [tuple(cell) for cell in cells] == [
        (0, 5, "S"),
        (0, 4, "S|<>"),
        (0, 2, "S|<>"),
        (0, 1, "A"),
        (1, 2, "S|<>"),
        (2, 4, "C"),
        (2, 3, "C|<>"),
        (3, 4, "C|<>"),
        (4, 5, "S|<>"),
    ]
    assert preorder(brackets.parse(TREES["several children of TOP"])[1])[0].label == "TOP|<>"
    assert preorder(brackets.parse(TREES["unary chains"])[1])[0].label == "S+VP"


@st.composite
def trees(draw) -> Constituents:
    """Any tree: chains of labels over recursively split spans."""
    label = st.sampled_from(["NP", "S", "A+B", "%", "X|<>", "TOP"])
    words = draw(st.integers(1, 9))
    found = [Span(0, words - 1, "TOP")]

    def grow(start: int, end: int) -> None:
        cuts = sorted(draw(st.sets(st.integers(start, end - 1), min_size=1))) if end > start else []
        for first, last in zip([start, *(cut + 1 for cut in cuts)], [*cuts, end], strict=True):
            chain = draw(st.lists(label, max_size=3))
            found.extend(Span(first, last, name) for name in chain)
            if chain and cuts and last > first:
                grow(first, last)

    found.extend(Span(0, words - 1, name) for name in draw(st.lists(label, max_size=2)))
    grow(0, words - 1)
    return Constituents(("T",) * words, tuple(found))


@given(trees())
def test_any_tree_there_and_back(tree):
    check(tree)


def test_deep_and_wide():
    deep = [Span(0, 1999, "TOP"), *(Span(i, 1999, "NP") for i in range(2000))]
    wide = [Span(0, 1999, "TOP"), Span(0, 1999, "S"), *(Span(i, i, "N") for i in range(2000))]
    for found in (deep, wide):
        check(Constituents(("T",) * 2000, tuple(found)))
    check(Constituents(("T",), (Span(0, 0, "TOP"),) + (Span(0, 0, "NP"),) * 2000))


@pytest.mark.shared
@pytest.mark.parametrize("case", ["07-one-word-trees", "12-unary-deep"])
def test_cases_there_and_back(shared, case):
    for path in (shared / "cases" / case).glob("*.ptb"):
        for example in brackets.read(path, Report())["con"]:
            check(example.gold)


@pytest.mark.shared
def test_real_trees_there_and_back(shared):
    for example in brackets.read(shared / "data" / "ewt5" / "dev" / "dev.ptb", Report())["con"]:
        tree = example.gold
        assert debinarise(preorder(tree), len(tree.tags)).brackets == tree.brackets
