"""How much of what a corpus holds: the figures of the paper's tables 4 and 5."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stemcell.corpora.layers import BLANK, LAYERS, SPLITS, Example


@dataclass(frozen=True)
class Statistics:
    """Figures of one layer of one split.

    ``items`` counts what is labelled by its name in the plural, such as ``{"entities": 966}``; ``labels`` counts the
    labels of these (of SRL the roles of arguments, without V); ``longest`` is in words.
    """

    split: str
    layer: str
    sentences: int
    tokens: int
    longest: int
    items: dict[str, int]
    labels: Counter[str]


def statistics(corpus: Mapping[str, Mapping[str, Iterable[Example]]]) -> list[Statistics]:
    """Figures of every split and layer that has sentences, layers by split."""
    table = []
    for layer in LAYERS:
        for split in SPLITS:
            sizes: list[int] = []
            items: Counter[str] = Counter()
            labels: Counter[str] = Counter()
            for example in corpus[split].get(layer, ()):
                sizes.append(len(example.words))
                items.update(_items(layer, example.gold))
                labels.update(_labels(layer, example.gold))
            if sizes:
                table.append(Statistics(split, layer, len(sizes), sum(sizes), max(sizes), dict(items), labels))
    return table


def unseen(table: Iterable[Statistics]) -> dict[tuple[str, str], list[str]]:
    """Labels by split and layer that train lacks, sorted: they count as wrong, and none can be predicted."""
    rows = list(table)
    train = {row.layer: row.labels for row in rows if row.split == "train"}
    found = {(r.split, r.layer): sorted(r.labels.keys() - train[r.layer].keys()) for r in rows if r.layer in train}
    return {where: labels for where, labels in found.items() if labels}


def _items(layer: str, gold: Any) -> dict[str, int]:
    if layer == "pos":
        return {"tags": len(gold) - gold.count(BLANK)}
    if layer == "ner":
        return {"entities": len(gold)}
    if layer == "dep":
        return {"arcs": len(gold.heads)}
    if layer == "con":
        return {"brackets": len(gold.brackets)}
    return {"predicates": len(gold.predicates), "arguments": len(gold.arguments)}


def _labels(layer: str, gold: Any) -> Iterable[str]:
    if layer == "pos":
        return (tag for tag in gold if tag != BLANK)
    if layer == "ner":
        return (span.label for span in gold)
    if layer == "dep":
        return gold.relations
    if layer == "con":
        return (span.label for span in gold.brackets)
    return (argument.role for argument in gold.arguments)
