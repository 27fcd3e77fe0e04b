"""The shared cases that concern reading, and the real corpus against its published figures."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from stemcell.corpora.formats import bio, brackets, conll12, conllu
from stemcell.corpora.layers import Argument, Frames
from stemcell.corpora.penn import normalise
from stemcell.corpora.report import Report
from stemcell.corpora.statistics import statistics
from stemcell.corpora.store import read_corpus

NO_OTHER = {"dev": {}, "test": {}}

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def cases(shared):
    return shared / "cases"


def sizes(examples):
    return [len(example.words) for example in examples]


def test_01_ranges_and_empty_nodes(cases, report):
    trees = conllu.read(cases / "01-mwt-empty-node" / "dev.conllu", report)["dep"]
    assert [example.gold.heads for example in trees] == [(4, 4, 4, 0, 4, 8, 8, 4, 4), (0, 3, 1, 1)]
    assert report.notes == {"multi-word ranges skipped": 2, "empty nodes skipped": 3}


@pytest.mark.parametrize(
    ("name", "line", "what"),
    [
        ("commas.ner.tsv", 1, "1 column "),
        ("no-tag.ner.tsv", 2, "1 column "),
        ("spaces.ner.tsv", 1, "1 column "),
        ("nine-columns.conllu", 4, "9 columns "),
        ("spaces.conllu", 4, "7 columns "),
        ("trailing-tab.conllu", 4, "11 columns "),
    ],
)
def test_02_separators(cases, report, name, line, what):
    path = cases / "02-separators" / name
    (conllu if name.endswith("conllu") else bio).read(path, report)
    (found,) = report.lines()
    assert found.startswith(f"{path}:{line}: {what}")


def test_02_space_in_form(cases, report):
    (example,) = conllu.read(cases / "02-separators" / "space-in-form.conllu", report)["pos"]
    assert example.words == ("about", "10 000", "bags")


def test_03_crlf_bom_and_no_last_end(cases, report):
    odd, plain = cases / "03-crlf-bom-noeof", cases / "03-crlf-bom-noeof" / "plain"
    for module, name in ((conllu, "conllu"), (bio, "ner.tsv"), (brackets, "ptb"), (conll12, "conll12")):
        read = module.read(odd / f"dev.{name}", report)
        assert read == module.read(plain / f"dev.{name}", Report())
        assert all(sizes(examples) == [6, 4, 7, 8, 4] for examples in read.values())
    assert set(report.notes.values()) == {4}
    assert not report.problems


@pytest.mark.parametrize(
    ("name", "line", "what"),
    [
        ("cycle-beside-root", 14, "has a cycle"),
        ("cycle-no-root", 12, "has no root"),
        ("no-root", 12, "has no root"),
        ("not-a-number", 15, "is not a number"),
        ("out-of-range", 15, "is out of range"),
        ("self-loop", 14, "is its own head"),
        ("two-roots", 12, "has 2 roots"),
    ],
)
def test_04_bad_heads(cases, report, name, line, what):
    path = cases / "04-bad-heads" / f"{name}.conllu"
    conllu.read(path, report)
    (found,) = report.lines()
    assert found.startswith(f"{path}:{line}: ")
    assert f"sentence {name}-2" in found
    assert what in found
    kept = conllu.read(path, skipping := Report(), skip_broken=True)
    assert sizes(kept["dep"]) == sizes(kept["pos"]) == [6, 6]
    assert not skipping.problems
    assert sum(skipping.notes.values()) == 1


def test_06_repeated_ids(cases, report):
    trees = conllu.read(cases / "06-dup-sentid" / "dev.conllu", report)["dep"]
    assert sizes(trees) == [6, 4, 7]
    assert report.notes == {"repeated sentence ids": 1}


def test_07_one_word_trees(cases, report):
    trees = brackets.read(cases / "07-one-word-trees" / "dev.ptb", report)["con"]
    assert [[b.label for b in e.gold.brackets] for e in trees] == [
        *(["TOP", "X"], ["TOP", "INTJ"], ["TOP"], ["TOP", "S", "VP"], ["TOP", "X"])
    ]


def test_09_traces_and_function_tags(cases, report):
    trees = brackets.read(cases / "09-traces-functags" / "raw.ptb", report)["con"]
    assert "".join(brackets.format_tree(e.words, e.gold) + "\n" for e in trees) == (
        (cases / "09-traces-functags" / "expected.ptb").read_text()
    )
    assert report.notes["trees dropped that hold traces only"] == 1
    labels = {bracket.label for example in trees for bracket in example.gold.brackets}
    assert labels == set("TOP NP S SBAR SBARQ SQ VP WHNP ADVP".split())  # noqa: SIM905


def test_10_brackets_and_slashes_in_words(cases, report):
    case = cases / "10-paren-slash"
    trees = brackets.read(case / "dev.ptb", report)["con"]
    assert sizes(trees) == [10, 1, 6]
    assert [" ".join(map(normalise, e.words)) for e in trees] == (case / "words.txt").read_text().splitlines()
    for example in trees:
        assert brackets.parse(brackets.format_tree(example.words, example.gold)) == (example.words, example.gold)
    assert brackets.read(case / "raw-parens.ptb", report)["con"] == []
    assert report.lines()[0].startswith(f"{case / 'raw-parens.ptb'}:1: ")


def test_12_deep_wide_and_long(cases, report):
    case = cases / "12-unary-deep"
    for name, count, words in (("deep250", 251, 251), ("wide600", 602, 600), ("long-word", 2, 1)):
        (example,) = brackets.read(case / f"{name}.ptb", report)["con"]
        assert (len(example.gold.brackets), len(example.words)) == (count, words)
        written = brackets.format_tree(example.words, example.gold)
        assert written == (case / f"{name}.ptb").read_text().strip()


def test_17_nested_arguments(cases, report):
    read = conll12.read(cases / "17-srl-nested" / "dev.conll12", report)
    (frames,) = (example.gold for example in read["srl"])
    assert {(a.role, a.start, a.end) for a in frames.arguments} == {
        *(("ARG0", 0, 0), ("ARG2", 2, 4), ("ARG1", 2, 2), ("ARGM-DIS", 5, 5), ("R-ARG0", 5, 5))
    }
    assert [tuple(span) for span in read["ner"][0].gold] == [(0, 0, "PER"), (2, 2, "PER")]


def test_20_documents_and_masked_words(cases, report):
    read = conll12.read(cases / "20-split-docs-masked" / "docs.conll12", report)
    assert sizes(read["srl"]) == [6, 6, 8, 4]
    assert not report.problems
    assert not any(conll12.read(cases / "20-split-docs-masked" / "masked.conll12", report).values())
    assert "the words are masked" in report.lines()[0]


def test_31_blanks_are_no_annotation(cases, report):
    case = cases / "31-blank-xpos"
    assert {layer: len(of) for layer, of in conllu.read(case / "no-xpos.conllu", report).items()} == {
        "pos": 0,
        "dep": 5,
    }
    assert {layer: len(of) for layer, of in conllu.read(case / "no-head.conllu", report).items()} == {
        "pos": 5,
        "dep": 0,
    }
    (row,) = statistics({"train": {"pos": conllu.read(case / "one-xpos-blank.conllu", report)["pos"]}} | NO_OTHER)
    assert row.items == {"tags": row.tokens - 1}
    assert "_" not in row.labels
    assert not report.problems


def test_32_role_columns_belong_to_the_words_of_their_v(cases, report):
    case = cases / "32-srl-columns"
    (swapped,) = conll12.read(case / "swapped.conll12", report)["srl"]
    arguments = (Argument(1, 0, 0, "ARG0"), Argument(1, 2, 3, "ARG1"), Argument(3, 0, 0, "ARG0"))
    assert swapped.gold == Frames((1, 3), arguments)
    (sense,) = conll12.read(case / "sense-without-column.conll12", report)["srl"]
    assert sense.gold == Frames((2,), (Argument(2, 0, 0, "ARG0"),))
    assert sum(count for note, count in report.notes.items() if "without a role column" in note) == 1
    assert not report.problems
    for name, line in (("no-v", 2), ("ragged", 3)):
        conll12.read(case / f"{name}.conll12", found := Report())
        (said,) = found.lines()
        assert said.startswith(f"{case / name}.conll12:{line}: ")
        assert "document made/col" in said


@pytest.mark.slow
def test_the_real_corpus_has_its_published_figures(shared, tmp_path):
    corpus = read_corpus(shared / "data" / "ewt5", cache=tmp_path)
    figures = json.loads((shared / "data" / "ewt5" / "report.json").read_text())
    rows = {(row.split, row.layer): row for row in statistics({split: corpus[split] for split in figures})}
    for split, expected in figures.items():
        pos, ner, dep, con, srl = (rows[split, layer] for layer in ("pos", "ner", "dep", "con", "srl"))
        assert (pos.sentences, pos.tokens, pos.longest) == tuple(expected[k] for k in ("sents", "tokens", "max_len"))
        assert (dep.sentences, dep.tokens) == (pos.sentences, pos.tokens)
        assert (ner.sentences, ner.tokens) == (expected["ner"], expected["ner_tok"])
        assert (con.sentences, con.tokens) == (expected["con"], expected["con_tok"])
        assert (srl.sentences, srl.tokens) == (expected["srl"], expected["srl_tok"])
        assert srl.items == {"predicates": expected["preds"], "arguments": expected["args"]}
        assert pos.labels == expected["xpos"]
        assert dep.labels == expected["deps"]
        assert con.labels == expected["con_labels"]
        assert con.items == {"brackets": expected["con_nodes"]}
        assert ner.labels == expected["ne"]
        # The report has V among the roles; here it only marks the predicate.
        assert srl.labels + Counter(V=expected["preds"]) == expected["roles"]
        assert corpus.notes.get(f"{split}: sentences that stand in train too") == expected.get("sents_also_in_train")
    _layers_agree(corpus, shared / "data" / "ewt5")


def _layers_agree(corpus, folder):
    """Words of one sentence are the same in every layer."""
    for split in ("train", "dev", "test"):
        words = {layer: [example.words for example in corpus[split][layer]] for layer in corpus.layers}
        for i, line in enumerate((folder / split / f"{split}.index.tsv").read_text().splitlines()[1:]):
            _, _, *positions = line.split("\t")
            for layer, position in zip(("ner", "con", "srl"), map(int, positions), strict=True):
                assert position < 0 or words[layer][position] == words["pos"][i]


def test_real_trees_and_frames_round_trip(shared, tmp_path):
    source = shared / "data" / "ewt5" / "dev"
    read = conll12.read(source / "dev.conll12", Report())
    conll12.write(tmp_path / "again.conll12", read)
    assert conll12.read(tmp_path / "again.conll12", Report()) == read
    trees = brackets.read(source / "dev.ptb", Report())["con"]
    brackets.write(tmp_path / "again.ptb", trees)
    assert (tmp_path / "again.ptb").read_bytes() == (source / "dev.ptb").read_bytes()
    entities = bio.read(source / "dev.ner.tsv", Report())["ner"]
    bio.write(tmp_path / "again.ner.tsv", entities)
    assert (tmp_path / "again.ner.tsv").read_bytes() == (source / "dev.ner.tsv").read_bytes()
    sentences = conllu.read(source / "dev.conllu", Report())
    conllu.write(tmp_path / "again.conllu", sentences["pos"], sentences["dep"])
    assert conllu.read(tmp_path / "again.conllu", Report()) == sentences
