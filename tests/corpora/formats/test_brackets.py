from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcell.corpora.formats import brackets
from stemcell.corpora.layers import Constituents, Span


def test_round_trip(tmp_path, layers, report):
    path = tmp_path / "made.ptb"
    brackets.write(path, layers["con"])
    assert "(-LRB- -LRB-)" in path.read_text()
    read = brackets.read(path, report)["con"]
    assert [(e.words, e.gold) for e in read] == [(e.words, e.gold) for e in layers["con"]]
    assert not report.notes
    assert not report.problems


@given(st.lists(st.text("()\\/*-a\u00a0", min_size=1), min_size=1, max_size=5))
def test_any_words_survive_writing_and_reading(words):
    tree = Constituents(("T",) * len(words), (Span(0, len(words) - 1, "TOP"),))
    text = brackets.format_tree(words, tree)
    assert brackets.parse(text) == (tuple(words), tree)
    assert text.count("(") == text.count(")") == len(words) + 1


def test_unary_chains_keep_their_order():
    text = "(TOP (S (VP (S (VP (VB Stop))))))"
    words, tree = brackets.parse(text)
    assert [span.label for span in tree.brackets] == ["TOP", "S", "VP", "S", "VP"]
    assert brackets.format_tree(words, tree) == text


def test_traces_and_function_tags_go(file, report):
    raw = (
        "( (S (NP-SBJ-1 (NN rain)) (VP (VBD seemed) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB fall)"
        " (NP=2 (-NONE- *T*-3))))))) )\n( (S (NP-SBJ (-NONE- *PRO*))) )\n"
    )
    (example,) = brackets.read(file("a.mrg", raw), report)["con"]
    plain = "(TOP (S (NP (NN rain)) (VP (VBD seemed) (S (VP (TO to) (VP (VB fall)))))))"
    assert brackets.format_tree(example.words, example.gold) == plain
    assert report.notes == {
        "function tags and indices removed from labels": 4,
        "traces removed": 3,
        "roots S1, ROOT or empty turned into TOP": 1,
        "trees dropped that hold traces only": 1,
    }


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("(S1 (S (NN x)))", ["TOP", "S"]),
        ("(ROOT (S (NN x)))", ["TOP", "S"]),
        ("((S (NN x)))", ["TOP", "S"]),
        ("( (S (NN x)) )", ["TOP", "S"]),
        ("(S (NN x))", ["TOP", "S"]),
        ("(NN x)", ["TOP"]),
        ("(ROOT (TOP (S (NN x))))", ["TOP", "S"]),
        ("(TOP (-X- (NN x)))", ["TOP", "-X-"]),
        ("(TOP (NP|PP-LOC (NN x)))", ["TOP", "NP|PP"]),
    ],
)
def test_roots_and_labels(text, labels):
    _, tree = brackets.parse(text)
    assert [span.label for span in tree.brackets] == labels


@pytest.mark.parametrize("indent", ["  ", "\t", ""])
def test_trees_over_several_lines(file, report, indent):
    content = f"( (S\n{indent}(NP (NN rain))\n{indent}(VP (VBD\n{indent}fell))))\n\n(TOP (UH Yes))\n"
    read = brackets.read(file("a.mrg", content), report)["con"]
    assert [example.words for example in read] == [("rain", "fell"), ("Yes",)]
    assert not report.problems


def test_depth_and_width_are_free():
    deep = "(TOP " + "(NP (NN w) " * 3000 + "(NN w)" + ")" * 3001
    words, tree = brackets.parse(deep)
    assert len(words) == len(tree.brackets) == 3001
    assert brackets.parse(brackets.format_tree(words, tree)) == (words, tree)
    wide = "(TOP " + "(NN w) " * 3000 + ")"
    assert len(brackets.parse(wide)[0]) == 3000


GOOD = "(TOP (S (NN snow)))\n"
WRONG = [
    ("(TOP (S (NN rain))\n", "unbalanced: 1 bracket(s) of the tree that begins here are not closed"),
    ("(TOP (S (NN rain))))\n", "unbalanced: ')' after the end of the tree"),
    (")\n", "unbalanced: ')' before any '('"),
    ("(TOP (NN a)) (TOP (NN b))\n", "several trees on one line"),
    ("(TOP ((NN a)))\n", "has no label"),
    ("(TOP (NP (-LRB- () (NN rye) (-RRB- ))))\n", "has no label"),
    ("(TOP (NP (-RRB- )) (NN a)))\n", "the bracket (-RRB-) has nothing in it"),
    ("()\n", "the bracket () has nothing in it"),
    ("(TOP)\n", "the bracket (TOP) has nothing in it"),
    ("(TOP the (NN cat))\n", "'the' stands outside a (TAG word) pair"),
    ("(TOP (NP the cat))\n", "stands outside a (TAG word) pair"),
    ("(TOP (NN a)) b\n", "unbalanced: 'b' after the end of the tree"),
]


@pytest.mark.parametrize(("bad", "what"), WRONG)
def test_wrong_trees(file, report, bad, what):
    path = file("a.ptb", GOOD + bad + GOOD)
    assert len(brackets.read(path, report)["con"]) == 2
    (found,) = report.lines()
    assert found.startswith(f"{path}:2: ")
    assert what in found


@pytest.mark.parametrize(("bad", "what"), WRONG)
def test_parse_says_why(bad, what):
    with pytest.raises(ValueError) as error:
        brackets.parse(bad.strip("\n"))
    assert what in str(error.value)


def test_an_open_tree_ends_where_the_next_begins(file, report):
    path = file("a.mrg", "(TOP\n  (NN rain)\n(TOP\n  (NN snow))\n")
    (example,) = brackets.read(path, report)["con"]
    assert example.words == ("snow",)
    assert report.lines()[0].startswith(f"{path}:1: unbalanced")


def test_broken_trees_can_be_left_out(file, report):
    read = brackets.read(file("a.ptb", "(TOP (NN a)\n" + GOOD), report, skip_broken=True)
    assert [example.words for example in read["con"]] == [("snow",)]
    assert report.notes == {"broken sentences left out: brackets": 1}


@pytest.mark.parametrize(
    "spans",
    [
        (Span(0, 2, "TOP"), Span(0, 1, "A"), Span(1, 2, "B")),
        (Span(0, 1, "A"), Span(0, 2, "TOP")),
        (Span(0, 2, "TOP"), Span(2, 3, "A")),
        (Span(0, 2, "TOP"), Span(2, 1, "A")),
    ],
)
def test_what_is_no_tree_is_not_written(spans):
    with pytest.raises(ValueError, match=r"preorder"):
        brackets.format_tree("abc", Constituents(("X",) * 3, spans))
