"""Every probe of every head against plain loops (:mod:`tests.probing.reference`)."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import pandas as pd
import pytest

from stemcell.corpora.layers import Constituents, Span
from stemcell.encoders.load import load_encoder
from stemcell.encoders.words import WordEncoder
from stemcell.probing.controls import ControlTags
from stemcell.probing.run import probe_all
from tests.encoders.small import small
from tests.probing import reference, texts

FAMILIES = ("tiny-bert", "tiny-roberta", "tiny-electra", "tiny-deberta", "deberta-v3", "modernbert")


def height_three(tree: Constituents) -> list[Span]:
    """Brackets that no other bracket of the tree lies in; of equal ones the inner one."""
    return [
        bracket
        for i, bracket in enumerate(tree.brackets)
        if not any(bracket.start <= b.start and b.end <= bracket.end for b in tree.brackets[i + 1 :])
    ]


SPANS = {
    "pos": lambda tags: [(i, i, tag) for i, tag in enumerate(tags)],
    "ner": lambda entities: [tuple(entity) for entity in entities],
    "con": lambda tree: [tuple(span) for span in height_three(tree)],
}


@cache
def expected(family: str) -> dict[tuple[str, str], dict]:
    return _expected(small(family, "eager"), texts.corpus())


def _expected(encoder: WordEncoder, corpus: texts.Corpus) -> dict[tuple[str, str], dict]:
    found = {(task, "link"): reference.links(encoder, corpus["test"][task], task) for task in ("dep", "srl")}
    for task, spans in SPANS.items():
        for mode in ("same-split", "train-split"):
            learnt = corpus["test" if mode == "same-split" else "train"][task]
            found[task, mode] = reference.centroids(encoder, corpus["test"][task], learnt, spans)
    tags = ControlTags(corpus["test"]["pos"])
    test, train = ([replace(own, gold=tuple(tags[word] for word in own.words)) for own in corpus[split]["pos"]]
                   for split in ("test", "train"))  # fmt: skip
    for mode, learnt in (("same-split", test), ("train-split", train)):
        control = reference.centroids(encoder, test, learnt, SPANS["pos"])
        for place, (count, score, *_) in found["pos", mode].items():
            _, random, *_ = control.get(place, (0, math.nan))
            found["pos", mode][place] = count, score, random, score - random
    return found


def assert_equal(cells: pd.DataFrame, wanted: dict[tuple[str, str], dict]) -> None:
    assert {tuple(pair) for pair in cells[["task", "mode"]].drop_duplicates().values} == set(wanted)
    assert len(cells) == sum(map(len, wanted.values()))
    for row in cells.itertuples():
        count, score, control, selectivity = wanted[row.task, row.mode][row.label, row.layer, row.head]
        place = (row.task, row.mode, row.label, row.layer, row.head)
        assert row.count == count, place
        assert row.score == score, place
        for found, other in ((row.control, control), (row.selectivity, selectivity)):
            # Counts are the same; only the order in which fractions were added up may differ.
            assert (math.isnan(found) and math.isnan(other)) or abs(found - other) < 1e-12, place


@pytest.mark.parametrize("sentences", [1, 32])
@pytest.mark.parametrize("family", FAMILIES)
def test_all_probes_are_those_of_plain_loops(family: str, sentences: int) -> None:
    result = probe_all(small(family, "eager"), texts.corpus(), sentences=sentences, samples=20)
    assert_equal(result.cells, expected(family))
    assert result.cells.label[result.cells.task == "pos"].unique().tolist() == ["''", "IN", "NEW", "NN", "VB"]


def test_the_references_distinguish_heads() -> None:
    """Were all scores alike, that they are the same would say nothing."""
    for task, mode in expected("tiny-bert"):
        scores = [cell[1] for cell in expected("tiny-bert")[task, mode].values()]
        assert len({round(score, 9) for score in scores}) > 5, (task, mode)


def test_fused_attention_is_turned_off_for_the_pass_and_on_again() -> None:
    encoder = small("tiny-bert", "sdpa")
    assert_equal(probe_all(encoder, texts.corpus(), samples=0).cells, expected("tiny-bert"))
    assert encoder.model.config._attn_implementation == "sdpa"


@pytest.mark.shared
@pytest.mark.slow
def test_real_text_and_real_weights(shared) -> None:
    from stemcell.corpora.store import read_corpus

    found = read_corpus(shared / "data" / "ewt5")
    corpus = {
        "train": {task: list(layer.take(12)) for task, layer in found["train"].items()},
        "test": {task: list(layer.take(20)) for task, layer in found["dev"].items()},
    }
    encoder = load_encoder("minilm", attention="eager")
    assert_equal(probe_all(encoder, corpus, samples=0).cells, _expected(encoder, corpus))
