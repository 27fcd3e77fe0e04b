from __future__ import annotations

from stemcell.corpora.layers import Example
from stemcell.corpora.statistics import statistics, unseen


def test_figures(layers):
    table = statistics({"train": layers, "dev": {layer: of[:1] for layer, of in layers.items()}, "test": {}})
    assert [(row.layer, row.split) for row in table] == [
        (layer, split) for layer in ("pos", "ner", "dep", "con", "srl") for split in ("train", "dev")
    ]
    figures = {(row.layer, row.split): (row.sentences, row.tokens, row.longest, row.items) for row in table}
    assert figures["pos", "train"] == (2, 13, 11, {"tags": 13})
    assert figures["ner", "train"] == (2, 13, 11, {"entities": 2})
    assert figures["dep", "dev"] == (1, 11, 11, {"arcs": 11})
    assert figures["con", "train"] == (2, 13, 11, {"brackets": 16})
    assert figures["srl", "train"] == (2, 13, 11, {"predicates": 4, "arguments": 8})
    labels = {(row.layer, row.split): row.labels for row in table}
    assert labels["srl", "train"] == {"ARG0": 4, "ARG1": 3, "C-ARG1": 1}
    assert labels["ner", "train"] == {"PER": 1, "LOC": 1}


def test_labels_unseen_in_train(layers):
    table = statistics({"train": {layer: of[:1] for layer, of in layers.items()}, "dev": layers, "test": {}})
    assert unseen(table) == {("dev", "pos"): ["VBD"], ("dev", "ner"): ["LOC"]}


def test_blanks_are_no_tags():
    (row,) = statistics({"train": {"pos": [Example("s", ("a", "b", "c"), ("X", "_", "X"))]}, "dev": {}, "test": {}})
    assert (row.tokens, row.items, row.labels) == (3, {"tags": 2}, {"X": 2})
