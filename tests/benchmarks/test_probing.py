"""What probing costs beside the bare encoder and beside plain loops, as ratios in one process; never a timed test.

Run with ``pytest -m benchmark tests/benchmarks/test_probing.py -s`` on a quiet machine.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import defaultdict

import numpy as np
import pytest
import torch

from stemcell.cpu import fast_linear
from stemcell.encoders.load import load_encoder
from stemcell.probing.run import probe_all
from stemcell.training.batches import length_batches
from stemcell.training.data import Sentences
from tests.benchmarks.test_training import base_encoder
from tests.probing.reference import Sentence
from tests.probing.test_probes import SPANS

pytestmark = [pytest.mark.benchmark, pytest.mark.shared]
SENTENCES, TOKENS = 32, 2048
MEMORY = """
import resource, sys
from stemcell.corpora.store import read_corpus
from stemcell.probing.run import probe_all
corpus = read_corpus(sys.argv[1])
part = {"test": {task: list(layer.take(int(sys.argv[2]))) for task, layer in corpus["train"].items()}}
probe_all("minilm", part)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.fixture(scope="module")
def corpus(shared):
    from stemcell.corpora.store import read_corpus

    return read_corpus(shared / "data" / "ewt5")


def part(corpus, size):
    return {"test": {task: list(layer.take(size)) for task, layer in corpus["test"].items()}}


@torch.inference_mode()
def bare(encoder, examples) -> float:
    """Seconds of one eager forward pass with attentions over the distinct sentences, batched as the probe's."""
    sentences = Sentences(encoder, {example.words: 0 for layer in examples.values() for example in layer})
    start = time.perf_counter()
    for indices in length_batches(sentences.sizes, SENTENCES, TOKENS):
        batch = sentences.batch(indices)
        with fast_linear(torch.device("cpu")):
            encoder.model(input_ids=batch.ids, attention_mask=batch.mask, output_attentions=True)
    return time.perf_counter() - start


@pytest.mark.parametrize("name", ["minilm", "bert-base"])
def test_all_probes_against_a_bare_forward_pass(corpus, name) -> None:
    examples = part(corpus, 300 if name == "minilm" else 150)
    words = [example.words for example in examples["test"]["pos"]]
    encoder = load_encoder("minilm", attention="eager") if name == "minilm" else base_encoder(words)
    encoder.model.set_attn_implementation("eager")
    bare(encoder, examples["test"])
    ratios = []
    for _ in range(3):
        plain = bare(encoder, examples["test"])
        start = time.perf_counter()
        found = probe_all(encoder, examples).cells
        ratios.append((time.perf_counter() - start) / plain)
    # All that was asked for was done: every label of all tasks, every head.
    assert set(found.task) == set(examples["test"])
    assert found.score.notna().all()
    assert (found.groupby(["task", "mode", "label"]).size() == sum(encoder.heads)).all()
    print(f"\n{name}: all five probes, two passes, {np.median(ratios):.2f} times one bare pass, {ratios}")


def test_against_plain_loops_task_by_task(corpus) -> None:
    """One task after another, attention kept, a loop over labels, layers, heads and items."""
    examples = part(corpus, 160)
    encoder = load_encoder("minilm", attention="eager")
    probe_all(encoder, examples, samples=0)
    start = time.perf_counter()
    cells = probe_all(encoder, examples, samples=0).cells
    fast = time.perf_counter() - start
    start = time.perf_counter()
    with torch.inference_mode():
        scores = {key: score for task, own in examples["test"].items() for key, score in _loops(encoder, task, own)}
    slow = time.perf_counter() - start
    rows = cells[["task", "label", "layer", "head", "score"]].itertuples(index=False, name=None)
    assert {tuple(key): score for *key, score in rows} == pytest.approx(scores, abs=1e-6)
    print(f"\nplain loops take {slow / fast:.1f} times as long ({slow:.1f} s, {fast:.1f} s)")


def _loops(encoder, task, examples):
    """(task, label, layer, head) and its score."""
    stored = [(Sentence(encoder, example.words), example.gold) for example in examples]
    for layer in range(len(encoder.heads)):
        for head in range(encoder.heads[layer]):
            right = defaultdict(list)
            if task in SPANS:
                vectors = defaultdict(list)
                for sentence, gold in stored:
                    for start, end, label in SPANS[task](gold):
                        vectors[label].append(sentence.vector(layer, head, start, end))
                # Of equal ones the first by name.
                labels = sorted(vectors)
                means = np.array([np.mean(vectors[label], axis=0) for label in labels])
                means /= np.linalg.norm(means, axis=1, keepdims=True)
                for number, label in enumerate(labels):
                    right[label] = [(means @ vector).argmax() == number for vector in vectors[label]]
            else:
                for sentence, gold in stored:
                    test = sentence.tests(layer, head, root=task == "dep")
                    for label, source, ends in _links(task, gold):
                        right[label].append(any(test(source, end) for end in ends))
            for label, own in right.items():
                yield (task, label, layer + 1, head + 1), sum(own) / len(own)


def _links(task, gold):
    """Label, source and the words at the other end."""
    if task == "dep":
        for word, (head, relation) in enumerate(zip(gold.heads, gold.relations, strict=True), 1):
            yield relation, head, (word,)
    else:
        for predicate, start, end, role in gold.arguments:
            yield role, predicate + 1, range(start + 1, end + 2)


def test_memory_does_not_grow_with_the_corpus(corpus) -> None:
    peaks = []
    for size in (400, 2000):
        command = [sys.executable, "-c", MEMORY, str(corpus.folder), str(size)]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1]))
    assert peaks[1] < 1.05 * peaks[0]
    print(f"\npeak memory with 400 and 2,000 sentences: {peaks[0] / 1024:.0f} and {peaks[1] / 1024:.0f} MiB")
