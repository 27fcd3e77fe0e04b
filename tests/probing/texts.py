"""Sentences with random gold of all five layers, and what is odd in real text: one word, no subtoken, many windows."""

from __future__ import annotations

import random

from stemcell.corpora.layers import Arcs, Argument, Constituents, Example, Frames, Span
from tests.encoders.small import SENTENCES

Corpus = dict[str, dict[str, list[Example]]]

WORDS = [*SENTENCES, ("Stop",), ("Nobody", "\u200b", "wants", "this"), SENTENCES[0][:-1] + SENTENCES[1] + SENTENCES[4]]


def corpus(seed: int = 0) -> Corpus:
    """A corpus of train and test; the latter has a tag and a role that the former lacks."""
    return {"train": _split(seed, WORDS[:6], ""), "dev": {}, "test": _split(seed + 1, WORDS, "NEW")}


def _split(seed: int, sentences: list[tuple[str, ...]], extra: str) -> dict[str, list[Example]]:
    pick = random.Random(seed)
    found: dict[str, list[Example]] = {name: [] for name in ("pos", "ner", "dep", "con", "srl")}
    for number, words in enumerate(sentences):
        n = len(words)
        tags = tuple(pick.choice(["NN", "VB", "IN", "''"]) for _ in words)
        if extra and number == 0:
            tags = (extra, *tags[1:])
        golds = {
            "pos": tags,
            "ner": tuple(
                Span(i, min(i + pick.randrange(3), n - 1), pick.choice(["PER", "ORG"])) for i in range(0, n, 4)
            ),
            "dep": _tree(pick, n),
            "con": Constituents(tags, tuple(_brackets(pick, 0, n - 1, "TOP"))),
            "srl": _frames(pick, n),
        }
        for layer, gold in golds.items():
            found[layer].append(Example(f"s{number}", words, gold))
    return found


def _tree(pick: random.Random, n: int) -> Arcs:
    order = list(range(1, n + 1))
    pick.shuffle(order)
    heads = {order[0]: 0, **{word: pick.choice(order[:i]) for i, word in enumerate(order) if i}}
    return Arcs(
        tuple(heads[i] for i in range(1, n + 1)),
        tuple("root" if heads[i] == 0 else pick.choice(["nsubj", "obj", "punct"]) for i in range(1, n + 1)),
    )


def _brackets(pick: random.Random, start: int, end: int, label: str) -> list[Span]:
    found = [Span(start, end, label)]
    if end > start and pick.random() < 0.8:
        split = pick.randrange(start, end)
        for a, b in ((start, split), (split + 1, end)):
            if pick.random() < 0.7:
                found += _brackets(pick, a, b, pick.choice(["NP", "VP"]))
    return found


def _frames(pick: random.Random, n: int) -> Frames:
    predicates = sorted(pick.sample(range(n), min(2, n)))
    arguments = []
    for predicate in predicates:
        for role in ("A0", "A1", "AM-TMP"):
            start = pick.randrange(n)
            arguments.append(Argument(predicate, start, min(n - 1, start + pick.randrange(5)), role))
    return Frames(tuple(predicates), tuple(arguments))
