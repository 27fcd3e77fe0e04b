from __future__ import annotations

import pytest

from stemcell.corpora.formats import bio
from stemcell.corpora.layers import Example, Span


def text(*tags, separator="\t"):
    return "".join(f"w{i}{separator}{tag}\n" for i, tag in enumerate(tags)) + "\n"


def spans(read):
    return [(s.start, s.end, s.label) for example in read["ner"] for s in example.gold]


def test_round_trip(tmp_path, layers, report):
    path = tmp_path / "made.tsv"
    bio.write(path, layers["ner"])
    read = bio.read(path, report)["ner"]
    assert [(e.words, e.gold) for e in read] == [(e.words, e.gold) for e in layers["ner"]]
    assert not report.notes


def test_overlapping_entities_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="overlap"):
        bio.write(tmp_path / "x", [Example("s", ("a", "b"), (Span(0, 1, "X"), Span(1, 1, "Y")))])


# The expected spans are those that conlleval.pl counts for these tags.
SCHEMES = [
    (("B-A", "I-A", "B-A", "O", "B-B"), [(0, 1, "A"), (2, 2, "A"), (4, 4, "B")], {}),
    (("I-A", "I-A", "B-A", "O", "I-B"), [(0, 1, "A"), (2, 2, "A"), (4, 4, "B")], {"entities converted from IOB1": 2}),
    (("I-A", "I-B", "O"), [(0, 0, "A"), (1, 1, "B")], {"entities converted from IOB1": 2}),
    (("B-A", "I-B", "O", "I-B"), [(0, 0, "A"), (1, 1, "B"), (3, 3, "B")], {"entities opened by I- without B-": 2}),
    (("B-A", "E-A", "S-A", "O"), [(0, 1, "A"), (2, 2, "A")], {"entities converted from BIOES": 2}),
    (("B-A", "L-A", "U-A", "O"), [(0, 1, "A"), (2, 2, "A")], {"entities converted from BILOU": 2}),
    (
        ("E-A", "I-A", "S-B", "I-B", "B-C", "O"),
        [(0, 0, "A"), (1, 1, "A"), (2, 2, "B"), (3, 3, "B"), (4, 4, "C")],
        {"entities converted from BIOES": 5, "entities opened by an inside or end tag": 3},
    ),
    (("B-WORK-OF-ART", "I-WORK-OF-ART"), [(0, 1, "WORK-OF-ART")], {}),
]


@pytest.mark.parametrize(("tags", "expected", "notes"), SCHEMES)
def test_schemes(file, report, tags, expected, notes):
    assert spans(bio.read(file("a.tsv", text(*tags)), report)) == expected
    assert report.notes == notes
    assert not report.problems


def test_columns_between_spaces_outside_tsv_files(file, report):
    content = "-DOCSTART- -X- O O\n\nMira NNP I-NP I-PER\nVoss NNP I-NP I-PER\n\nslept VBD I-VP O\n"
    read = bio.read(file("a.bio", content), report)
    assert [example.words for example in read["ner"]] == [("Mira", "Voss"), ("slept",)]
    assert spans(read) == [(0, 1, "PER")]
    assert not report.problems


def test_comments_give_ids_and_a_hash_is_a_word(file, report):
    read = bio.read(file("a.tsv", "# sent_id = s7\n# text = # 1\n#\tO\n1\tO\n"), report)
    assert [(example.id, example.words) for example in read["ner"]] == [("s7", ("#", "1"))]


WRONG = [
    ("a.ner.tsv", "Mira,B-PER\nslept,O\n", 1, "1 column where a word and its tag"),
    ("a.ner.tsv", "Mira B-PER\nslept O\n", 1, "1 column where a word and its tag"),
    ("a.ner.tsv", "Mira\tB-PER\nslept\n.\tO\n", 2, "1 column where 2 are expected"),
    ("a.bio", "Mira NNP B-PER\nslept O\n", 2, "2 columns where 3 are expected"),
    ("a.ner.tsv", "\tO\n", 1, "the word is empty"),
    ("a.ner.tsv", "a\tO\nb\tPER\n", 2, "tag 'PER' is of no known tag scheme"),
    ("a.ner.tsv", "a\tO\nb\tM-PER\n", 2, "tag 'M-PER' is of no known tag scheme"),
    ("a.ner.tsv", "a\tB-\n", 1, "tag 'B-' is of no known tag scheme"),
    ("a.ner.tsv", "a\tB-X\nb\tE-X\nc\tL-X\n", 3, "unknown tag scheme: tags with B, E, L in one file"),
    ("a.ner.tsv", "[WORD]\tO\n", 0, "the words are masked"),
]


@pytest.mark.parametrize(("name", "content", "line", "what"), WRONG)
def test_wrong_files(file, report, name, content, line, what):
    path = file(name, content)
    assert bio.read(path, report) == {"ner": []}
    (found,) = report.lines()
    assert found.startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert what in found


def test_broken_sentences_can_be_left_out(file, report):
    read = bio.read(file("a.tsv", text("B-A") + text("?") + text("B-B")), report, skip_broken=True)
    assert spans(read) == [(0, 0, "A"), (0, 0, "B")]
    assert report.notes == {"broken sentences left out: tag scheme": 1}


@pytest.mark.parametrize("blank", ["_", "-"])
def test_a_sentence_with_a_blank_tag_is_left_out(file, report, blank):
    read = bio.read(file("a.tsv", text("B-A", "O") + text("B-B", blank) + text(blank, blank)), report)
    assert spans(read) == [(0, 0, "A")]
    assert report.notes == {
        "sentences with entity tags for some words only, left out of NER": 1,
        "sentences without NER": 1,
    }
    assert not report.problems
