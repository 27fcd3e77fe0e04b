from __future__ import annotations

import pytest

from stemcell.corpora.formats import conll12
from stemcell.corpora.layers import BLANK, Argument, Example, Frames, Span


def row(i, word, tag="NN", parse="*", frameset="-", entity="*", roles=(), document="d", part=0):
    return (
        "\t".join([document, str(part), str(i), word, tag, parse, "-", frameset, "-", "-", entity, *roles, "-"]) + "\n"
    )


def sentence(**changes):
    """Rain fell here: one predicate, two arguments."""
    rows = [
        {"i": 0, "word": "Rain", "parse": "(TOP(S(NP*)", "roles": ["(ARG1*)"]},
        {"i": 1, "word": "fell", "parse": "(VP*", "frameset": "01", "roles": ["(V*)"]},
        {"i": 2, "word": "here", "parse": "(ADVP*))))", "roles": ["(ARGM-LOC*)"]},
    ]
    for name, value in changes.items():
        key, index = name.rsplit("_", 1)
        rows[int(index)][key] = value
    return "".join(row(**values) for values in rows) + "\n"


def test_round_trip(tmp_path, layers, report):
    given = {layer: layers[layer] for layer in ("pos", "con", "ner", "srl")}
    path = tmp_path / "made.conll12"
    conll12.write(path, given)
    assert conll12.read(path, report) == given
    assert not report.notes
    assert not report.problems


def test_round_trip_of_roles_alone(tmp_path, layers, report):
    path = tmp_path / "made.conll12"
    conll12.write(path, {"srl": layers["srl"], "con": []})
    read = conll12.read(path, report)
    assert read == {"pos": [], "con": [], "ner": [], "srl": layers["srl"]}
    assert report.notes == {f"CoNLL-2012 sentences without {layer}": 2 for layer in ("POS", "CON", "NER")}


def test_documents_and_parts_become_ids_and_back(tmp_path, report):
    words = [Example(name, ("a",), Frames((), ())) for name in ("x/y.0.1", "x/y.0.2", "x/y.1.1", "z.0.1", "free")]
    path = tmp_path / "made.conll12"
    conll12.write(path, {"srl": words})
    assert path.read_text().count("#begin document") == 4
    assert [e.id for e in conll12.read(path, report)["srl"]] == [*(e.id for e in words[:4]), "made.0.1"]


def test_what_brackets_cannot_say_is_not_written(tmp_path):
    crossing = Frames((0,), (Argument(0, 0, 1, "A"), Argument(0, 1, 2, "B")))
    with pytest.raises(ValueError, match="crosses"):
        conll12.write(tmp_path / "x", {"srl": [Example("s", ("a", "b", "c"), crossing)]})
    one, other = Example("s", ("a",), Frames((), ())), Example("s", ("b",), ("X",))
    with pytest.raises(ValueError, match="differ"):
        conll12.write(tmp_path / "x", {"srl": [one], "pos": [other]})


def test_documents_end_sentences_without_a_blank_line(file, report):
    part = "#begin document (d); part 000\n" + sentence().rstrip("\n") + "\n#end document\n"
    read = conll12.read(file("a.conll12", part + part), report)
    assert [len(e.words) for e in read["srl"]] == [3, 3]
    assert [e.id for e in read["srl"]] == ["d.0.1", "d.0.2"]


def test_runs_of_spaces(file, report):
    read = conll12.read(file("a.conll12", "  " + sentence().replace("\t", "    ").replace("\n", "  \n")), report)
    assert read["srl"][0].gold == Frames((1,), (Argument(1, 0, 0, "ARG1"), Argument(1, 2, 2, "ARGM-LOC")))


def test_arguments_may_nest_and_entities_lack_a_star(file, report):
    text = (
        row(0, "Mira", parse="(TOP(S(NP*)", entity="(PER)", roles=["(ARG0*)"])
        + row(1, "gave", parse="(VP*", frameset="01", roles=["(V*)"])
        + row(2, "Ana", parse="(NP(NP*", entity="(PER)", roles=["(ARG2(ARG1*)"])
        + row(3, "'s", parse="*)", roles=["*"])
        + row(4, "milk", parse="*))", roles=["*)"])
        + row(5, "too", parse="*))", roles=["(ARGM-DIS(R-ARG0*))"])
    )
    read = conll12.read(file("a.conll12", text), report)
    assert [(a.role, a.start, a.end) for a in read["srl"][0].gold.arguments] == [
        ("ARG0", 0, 0),
        ("ARG1", 2, 2),
        ("ARG2", 2, 4),
        ("ARGM-DIS", 5, 5),
        ("R-ARG0", 5, 5),
    ]
    assert read["ner"][0].gold == (Span(0, 0, "PER"), Span(2, 2, "PER"))


def test_the_predicate_of_a_longer_v_is_the_row_with_the_frameset(file, report):
    text = (
        row(0, "give", frameset="05", roles=["(V*", "*"])
        + row(1, "up", roles=["*)", "*"])
        + row(2, "trying", frameset="01", roles=["(ARG1*)", "(V*)"])
        + row(3, "on", roles=["*", "(C-V*)"])
    )
    read = conll12.read(file("a.conll12", text), report)
    assert read["srl"][0].gold == Frames((0, 2), (Argument(0, 2, 2, "ARG1"), Argument(2, 3, 3, "C-V")))
    assert read["con"] == []


def test_a_parse_without_top_gets_one_and_function_tags_go(file, report):
    read = conll12.read(file("a.conll12", row(0, "Yes", parse="(FRAG(INTJ-TMP*))")), report)
    assert read["con"][0].gold.brackets == (Span(0, 0, "TOP"), Span(0, 0, "FRAG"), Span(0, 0, "INTJ"))
    assert report.notes == {
        "trees without a root, put under TOP": 1,
        "function tags and indices removed from labels": 1,
    }


WRONG = [
    (sentence(roles_1=[]), 2, "12 columns where the sentence's first row"),
    ("a b c\n\n", 1, "3 columns where at least 12 are expected"),
    (sentence(i_1=0), 2, "word number '0' where 1 is expected"),
    (sentence()[:-1] + sentence(), 4, "word number '0' where 3 is expected"),
    (sentence(word_0=""), 1, "the word is empty"),
    (sentence(parse_0="(TOP(NP*)"), 3, "unbalanced parse"),
    (sentence(parse_2="(ADVP*)))"), 1, "unbalanced parse: (TOP is never closed"),
    (sentence(parse_0="(TOP*)", parse_1="(VP*", parse_2="*)"), 2, "several trees in one sentence"),
    (sentence(parse_0="*", parse_1="(TOP*", parse_2="*)"), 1, "does not cover the whole sentence"),
    (sentence(parse_0="(TOP*", parse_1="*)", parse_2="*"), 1, "does not cover the whole sentence"),
    (sentence(parse_1="(VP"), 2, "parse '(VP' does not stand for exactly this one word"),
    (sentence(parse_1="(VP**"), 2, "does not stand for exactly this one word"),
    (sentence(parse_1="*(VP"), 2, "parse '*(VP' cannot be read"),
    (sentence(parse_1="(*"), 2, "cannot be read"),
    (sentence(entity_0="(PER*"), 1, "unbalanced entities: (PER is never closed"),
    (sentence(roles_0=["(ARG1*"]), 1, "unbalanced roles"),
    (sentence(roles_0=["*)"]), 1, "unbalanced roles: nothing is open"),
    (sentence(roles_1=["*"]), 1, "role column 12 of document d has no V"),
    (sentence(roles_0=["(V*)"]), 2, "role column 12 of document d has 2 V"),
    (sentence(roles_0=["(V*)"], roles_1=["(C-V*)"]), 1, "12 of document d has its V on 'Rain', where no word has a fr"),
    (sentence(frameset_1="-"), 2, "role column 12 of document d has its V on 'fell', where no word has a frameset"),
    (
        sentence(roles_0=["(V*", "*"], roles_1=["*)", "(V*)"], roles_2=["*", "*"], frameset_0="1", frameset_2="1"),
        1,
        "role column 12 of document d has its V on 'Rain fell', where several words have a frameset",
    ),
    (
        sentence(roles_0=["*", "*"], roles_1=["(V*)", "(V*)"], roles_2=["*", "*"], frameset_0="01"),
        2,
        "role column 13 of document d has its V on 'fell', as column 12 has",
    ),
]


@pytest.mark.parametrize(("bad", "line", "what"), WRONG)
def test_wrong_sentences(file, report, bad, line, what):
    path = file("a.conll12", bad + sentence())
    read = conll12.read(path, report)
    assert {layer: len(examples) for layer, examples in read.items()} == {"pos": 1, "con": 1, "ner": 1, "srl": 1}
    (found,) = report.lines()
    assert found.startswith(f"{path}:{line}: ")
    assert what in found


def test_broken_sentences_can_be_left_out(file, report):
    read = conll12.read(file("a.conll12", sentence(roles_1=["*"]) + sentence()), report, skip_broken=True)
    assert len(read["srl"]) == 1
    assert report.notes == {"broken sentences left out: predicates": 1}


def test_masked_words_are_refused(file, report):
    path = file("a.conll12", sentence() + sentence(word_1="[WORD]"))
    assert not any(conll12.read(path, report).values())
    (found,) = report.lines()
    assert found.startswith(f"{path}:5: the words are masked")


def test_a_role_column_belongs_to_the_word_of_its_v(file, report):
    text = (
        row(0, "Odo", roles=["(ARG0*)", "(ARG0*)"])
        + row(1, "wants", frameset="01", roles=["*", "(V*)"])
        + row(2, "to", roles=["*", "(ARG1*"])
        + row(3, "sleep", frameset="01", roles=["(V*)", "*)"])
    )
    arguments = (Argument(1, 0, 0, "ARG0"), Argument(1, 2, 3, "ARG1"), Argument(3, 0, 0, "ARG0"))
    assert conll12.read(file("a.conll12", text), report)["srl"][0].gold == Frames((1, 3), arguments)
    assert not report.problems


def test_a_frameset_without_a_role_column_is_no_predicate(file, report):
    read = conll12.read(file("a.conll12", sentence(frameset_2="01")), report)
    assert read["srl"][0].gold == Frames((1,), (Argument(1, 0, 0, "ARG1"), Argument(1, 2, 2, "ARGM-LOC")))
    assert report.notes == {"framesets without a role column, not counted as predicates": 1}
    read = conll12.read(file("b.conll12", sentence(roles_0=[], roles_1=[], roles_2=[])), report)
    assert not read["srl"]
    assert report.notes["CoNLL-2012 sentences without SRL: they have framesets but no role column"] == 1


@pytest.mark.parametrize("blank", ["_", "-"])
@pytest.mark.parametrize(("column", "layer"), [("parse", "con"), ("entity", "ner"), ("roles", "srl")])
def test_a_sentence_with_a_blank_lacks_the_layer(file, report, blank, column, layer):
    cell = [blank] if column == "roles" else blank
    whole = sentence(**{f"{column}_{i}": cell for i in range(3)})
    read = conll12.read(file("a.conll12", sentence() + whole + sentence(**{f"{column}_1": cell})), report)
    assert {name: len(found) for name, found in read.items()} == {"pos": 3, "con": 3, "ner": 3, "srl": 3} | {layer: 1}
    assert report.notes[f"CoNLL-2012 sentences without {layer.upper()}"] == 2
    partly = 2 if layer == "srl" else 1  # The framesets are there.
    assert report.notes[f"CoNLL-2012 sentences without {layer.upper()}: only some of their words have it"] == partly
    assert not report.problems


def test_a_blank_frameset_is_no_predicate(file, report):
    read = conll12.read(file("a.conll12", sentence(frameset_0="_") + sentence()), report)
    assert len(read["srl"]) == 1
    assert read["srl"][0].gold.predicates == (1,)


@pytest.mark.parametrize("blank", ["_", "-"])
def test_a_blank_tag_is_no_tag(file, report, blank):
    read = conll12.read(file("a.conll12", sentence(tag_1=blank)), report)
    assert read["pos"][0].gold == read["con"][0].gold.tags == ("NN", BLANK, "NN")
    assert report.notes == {"CoNLL-2012 words without a tag, left out of POS": 1}
    assert not conll12.read(file("b.conll12", sentence(tag_0=blank, tag_1=blank, tag_2=blank)), report)["pos"]
