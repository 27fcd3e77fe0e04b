from __future__ import annotations

import pytest

from stemcell.corpora.formats import conllu
from stemcell.corpora.formats.conllu import _cycle
from stemcell.corpora.layers import BLANK
from stemcell.errors import UserError


def row(i, word="w", upos="X", xpos="NN", head="0", relation="root"):
    return f"{i}\t{word}\t_\t{upos}\t{xpos}\t_\t{head}\t{relation}\t_\t_\n"


GOOD = "# sent_id = s1\n" + row(1, "Snow", head="2", relation="nsubj") + row(2, "fell") + "\n"


def test_round_trip(tmp_path, layers, report):
    path = tmp_path / "all.conllu"
    conllu.write(path, layers["pos"], layers["dep"])
    assert conllu.read(path, report) == {"pos": layers["pos"], "dep": layers["dep"]}
    assert not report.notes
    assert not report.problems


@pytest.mark.parametrize("kept", ["pos", "dep"])
def test_round_trip_of_one_layer(tmp_path, layers, report, kept):
    path = tmp_path / "one.conllu"
    given = {"pos": [], "dep": [], kept: layers[kept]}
    conllu.write(path, **given)
    assert conllu.read(path, report) == given
    assert list(report.notes.values()) == [2]


def test_tags_and_trees_of_different_sentences_are_not_written(tmp_path, layers):
    with pytest.raises(ValueError, match="not of the same sentences"):
        conllu.write(tmp_path / "x", layers["pos"], layers["dep"][::-1])
    with pytest.raises(ValueError, match="not of the same sentences"):
        conllu.write(tmp_path / "x", layers["pos"], layers["dep"][:1])


def test_ranges_and_empty_nodes_are_not_words(file, report):
    text = (
        "0.1\tit\t_\t_\t_\t_\t_\t_\t_\t_\n1-2\tgonna\t_\t_\t_\t_\t_\t_\t_\t_\n"
        + row(1, "gon")
        + "1.1\tis\t_\t_\t_\t_\t_\t_\t_\t_\n"
        + row(2, "na", head="1", relation="mark")
    )
    read = conllu.read(file("a.conllu", text), report)
    assert read["dep"][0].words == ("gon", "na")
    assert read["dep"][0].gold.heads == (0, 1)
    assert report.notes == {"multi-word ranges skipped": 1, "empty nodes skipped": 2}


def test_conllx_without_comments_takes_the_file_name_for_ids(file, report):
    read = conllu.read(file("part.conllx", row(1).replace("_\t_\n", "2\tdep\n") + "\n" + row(1)), report)
    assert [example.id for example in read["dep"]] == ["part-1", "part-2"]


def test_upos_on_request(file, report):
    path = file("a.conllu", row(1, upos="ADV", xpos="_"))
    assert conllu.read(path, report, pos_column="upos")["pos"][0].gold == ("ADV",)
    assert conllu.read(path, report)["pos"] == []
    with pytest.raises(UserError, match="did you mean 'xpos'"):
        conllu.read(path, report, pos_column="xpo")


def test_a_word_without_a_tag_is_blank_and_noted(file, report):
    read = conllu.read(file("a.conllu", row(1, xpos="_") + row(2, head="1", relation="x")), report)
    assert read["pos"][0].gold == (BLANK, "NN")
    assert report.notes == {"words without xpos, left out of POS": 1}


@pytest.mark.parametrize("missing", [{"head": "_"}, {"relation": "_"}, {"head": "_", "relation": "_"}])
def test_a_sentence_with_half_a_tree_has_none(file, report, missing):
    read = conllu.read(file("a.conllu", row(1) + row(2, **{"head": "1", "relation": "x"} | missing)), report)
    assert read["dep"] == []
    assert len(read["pos"]) == 1
    assert report.notes == {"sentences with heads or relations for some words only, left out of DEP": 1}
    assert not report.problems


def test_repeated_ids_lose_no_sentence(file, report):
    read = conllu.read(file("a.conllu", GOOD + GOOD + row(1)), report)
    assert [example.id for example in read["dep"]] == ["s1", "s1", "a-3"]
    assert report.notes == {"repeated sentence ids": 1}


BROKEN = [
    (row(1).replace("_\t_\n", "_\n"), 1, "9 columns where 10"),
    (row(1).replace("\n", "\t\n"), 1, "11 columns where 10"),
    (row(1) + row(2, head="1", relation="x").replace("\tw\t_\t", " w _ "), 2, "7 columns where 10"),
    (row(1, word=""), 1, "column 2 is empty"),
    (row(2), 1, "word id '2' where 1"),
    (row(1) + row(1), 2, "word id '1' where 2"),
    (row(1, head="x"), 1, "head 'x' of word 1 of sentence a-1 is not a number"),
    (row(1, head="²"), 1, "is not a number"),
    (row(1) + row(2, head="3", relation="x"), 2, "head 3 of word 2 of sentence a-1 is out of range"),
    (row(1) + row(2, head="9" * 5000, relation="x"), 2, "is out of range"),
    (row(1) + row(2, head="2", relation="x"), 2, "is its own head"),
    (row(1, head="2", relation="x") + row(2, head="1", relation="x"), 1, "has no root"),
    (row(1) + row(2), 1, "has 2 roots (words 1, 2)"),
    (row(1) + row(2, head="3", relation="x") + row(3, head="2", relation="x"), 2, "has a cycle"),
    ("\t\t\t\t\t\t\t\t\t\n", 1, "word id ''"),
]


@pytest.mark.parametrize(("text", "line", "what"), BROKEN)
def test_broken_sentences(file, report, text, line, what):
    path = file("a.conllu", text + "\n" + GOOD)
    read = conllu.read(path, report)
    assert len(read["dep"]) == len(read["pos"]) == 1
    (found,) = report.lines()
    assert found.startswith(f"{path}:{line}: ")
    assert what in found


def test_broken_sentences_can_be_left_out(file, report):
    read = conllu.read(file("a.conllu", row(1, head="1") + "\n" + GOOD), report, skip_broken=True)
    assert [example.words for example in read["dep"]] == [("Snow", "fell")]
    assert not report.problems
    assert report.notes == {"broken sentences left out: heads": 1}


def test_masked_file(file, report):
    assert conllu.read(file("a.conllu", row(1, "_") + row(2, "_", head="1", relation="x")), report)["pos"] == []
    assert "the words are masked" in report.lines()[0]


def test_at_most_twenty_problems_of_a_kind_are_listed(file, report):
    conllu.read(file("a.conllu", (row(1, head="5") + "\n") * 25), report)
    assert len(report.lines()) == 21
    assert report.lines()[-1] == "... and 5 more: heads"


@pytest.mark.parametrize("heads", [[0], [0, 1, 2], [2, 3, 0], [3, 3, 0, 3]])
def test_trees_have_no_cycle(heads):
    assert _cycle(heads) == 0


@pytest.mark.parametrize(("heads", "member"), [([0, 3, 2], 2), ([0, 3, 4, 2, 2], 2), ([2, 1], 1), ([0, 1, 4, 5, 3], 3)])
def test_cycles_are_found(heads, member):
    assert _cycle(heads) == member
