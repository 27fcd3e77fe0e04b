"""The probes as docs/method.md, section 6, states them, in plain loops: one sentence, one window and one head at a
time, on what the bare model says of itself. Shares nothing with the fast code but the cutting of windows."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import torch

from stemcell.corpora.layers import Example
from stemcell.encoders.windows import cut
from stemcell.encoders.words import WordEncoder


class Window:
    """Attention [heads, n, n] and attended values A V [heads, n, head_size] of each layer, float64."""

    def __init__(self, encoder: WordEncoder, ids: list[int]) -> None:
        model, heads = encoder.model, encoder.hidden // encoder.head_size
        row = torch.tensor([ids])
        with torch.inference_mode():
            output = model(row, attention_mask=torch.ones_like(row), output_attentions=True, output_hidden_states=True)
            self.attentions, self.attended = [], []
            for layer, weights in enumerate(output.attentions):
                value = _value(model, layer, output.hidden_states[layer])[0].view(len(ids), heads, -1).transpose(0, 1)
                self.attentions.append(weights[0].double().numpy())
                self.attended.append((weights[0] @ value).double().numpy())


def _value(model: Any, layer: int, hidden: torch.Tensor) -> torch.Tensor:
    kind = model.config.model_type
    if kind == "modernbert":
        block = model.layers[layer]
        return block.attn.Wqkv(block.attn_norm(hidden)).chunk(3, -1)[2]
    attention = model.encoder.layer[layer].attention.self
    if kind == "deberta":
        packed = attention.in_proj(hidden).unflatten(-1, (attention.num_attention_heads, 3, -1))
        return packed[..., 2, :].flatten(-2) + attention.v_bias
    return (attention.value_proj if kind == "deberta-v2" else attention.value)(hidden)


class Sentence:
    """A sentence's word-level attention and vectors."""

    def __init__(self, encoder: WordEncoder, words: tuple[str, ...]) -> None:
        pieces = [encoder.tokenize([word]) for word in words]
        # A word of over a window would be cut here; none of the tests' words is.
        assert all(len(piece.windows) == 1 for piece in pieces)
        ids = [piece.ids[1:-1].tolist() for piece in pieces]
        self.n = len(words)
        counts = np.array([len(own) for own in ids])
        flat = [number for own in ids for number in own]
        owner = [word for word, own in enumerate(ids) for _ in own]
        self.cut = cut(counts, encoder.limit - 2)
        self.windows, self.owner = [], []
        for start in self.cut.start.tolist():
            inside = slice(start, start + self.cut.size)
            self.windows.append(Window(encoder, [encoder.specials.first, *flat[inside], encoder.specials.last]))
            # Of each column the position: 0 the root, words from 1; the last special token has none.
            self.owner.append([0, *[word + 1 for word in owner[inside]], None])

    def rows(self, word: int) -> range:
        """Rows, in its window, of a word (from 1)."""
        return range(self.cut.first[word - 1] + 1, self.cut.last[word - 1] + 2)

    def to_positions(self, window: int, layer: int, head: int, rows: range) -> list[float]:
        """Attention from rows (mean) to each position (sum)."""
        found = [0.0] * (self.n + 1)
        for row in rows:
            for column, place in enumerate(self.owner[window]):
                if place is not None:
                    found[place] += self.windows[window].attentions[layer][head, row, column] / len(rows)
        return found

    def tests(self, layer: int, head: int, root: bool) -> Any:
        """test(a, b): does a attend most to b, or b to a (positions; 0 is the root)."""
        candidates = range(0 if root else 1, self.n + 1)
        most, root_most = {}, {}
        for word in range(1, self.n + 1):
            window = int(self.cut.window[word - 1])
            most[word] = _argmax(self.to_positions(window, layer, head, self.rows(word)), candidates)
            root_most[word] = _argmax(self.to_positions(window, layer, head, range(1)), candidates)

        def test(a: int, b: int) -> bool:
            if a == 0:
                return most[b] == 0 or root_most[b] == b
            return most[b] == a or most[a] == b

        return test

    def vector(self, layer: int, head: int, start: int, end: int) -> np.ndarray:
        """Mean over words start to end (from 0, included) of the mean over their subtokens."""
        words = []
        for word in range(start, end + 1):
            attended = self.windows[int(self.cut.window[word])].attended[layer][head]
            words.append(np.mean([attended[row] for row in self.rows(word + 1)], axis=0))
        return np.mean(words, axis=0)


def _argmax(values: list[float], candidates: range) -> int:
    best = candidates[0]
    for candidate in candidates:
        if values[candidate] > values[best]:
            best = candidate
    return best


Cell = tuple[int, float, float, float]
"""Count, score, control and selectivity."""


def links(encoder: WordEncoder, examples: list[Example], task: str) -> dict[tuple[str, int, int], Cell]:
    """DEP or SRL: label, layer, head (from 1) -> cell."""
    right, control, selectivity = defaultdict(list), defaultdict(list), defaultdict(list)
    for example in examples:
        sentence = Sentence(encoder, example.words)
        words = range(1, sentence.n + 1)
        for layer in range(len(encoder.heads)):
            for head in range(encoder.heads[layer]):
                test = sentence.tests(layer, head, root=task == "dep")
                for label, real, others in (_arcs if task == "dep" else _arguments)(example.gold, words, test):
                    key = label, layer + 1, head + 1
                    right[key].append(real)
                    if others:
                        mean = sum(others) / len(others)
                        control[key].append(mean)
                        selectivity[key].append(real - mean)
    return {key: (len(own), _mean(own), _mean(control[key]), _mean(selectivity[key])) for key, own in right.items()}


def _arcs(tree: Any, words: range, test: Any) -> Any:
    for dependent, (head, relation) in enumerate(zip(tree.heads, tree.relations, strict=True), 1):
        if head == 0:
            others = [test(0, other) for other in words if other != dependent]
        else:
            others = [test(other, dependent) for other in words if other not in (head, dependent)]
        yield relation, test(head, dependent), others


def _arguments(frames: Any, words: range, test: Any) -> Any:
    for predicate, start, end, role in frames.arguments:
        span = range(start + 1, end + 2)

        def holds(source: int, span: range = span) -> bool:
            return any(test(source, word) for word in span)

        others = [holds(other) for other in words if other not in span and other != predicate + 1]
        yield role, holds(predicate + 1), others


def centroids(
    encoder: WordEncoder, examples: list[Example], train: list[Example], spans: Any
) -> dict[tuple[str, int, int], Cell]:
    """Score of each label with the centroids of ``train``; ``spans(gold)`` gives (start, end, label)."""
    items = [(Sentence(encoder, example.words), spans(example.gold)) for example in examples]
    learnt = [(Sentence(encoder, example.words), spans(example.gold)) for example in train]
    found = {}
    for layer in range(len(encoder.heads)):
        for head in range(encoder.heads[layer]):
            vectors, right = defaultdict(list), defaultdict(list)
            for sentence, own in learnt:
                for start, end, label in own:
                    vectors[label].append(sentence.vector(layer, head, start, end))
            means = {label: np.mean(vectors[label], axis=0) for label in sorted(vectors)}
            for sentence, own in items:
                for start, end, label in own:
                    vector = sentence.vector(layer, head, start, end)
                    cosines = {name: _cosine(vector, mean) for name, mean in means.items()}
                    right[label].append(max(cosines, key=cosines.__getitem__) == label)
            for label, own in right.items():
                found[label, layer + 1, head + 1] = (len(own), _mean(own), math.nan, math.nan)
    return found


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / math.sqrt(a @ a) / math.sqrt(b @ b))


def _mean(values: list) -> float:
    return sum(values) / len(values) if values else math.nan
