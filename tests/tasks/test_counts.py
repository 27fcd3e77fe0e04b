"""Counts of sentences sum to the score of all, for every task, whatever is wrong in the predictions."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemcell.corpora.demo import write_demo
from stemcell.corpora.layers import LAYERS, example_row
from stemcell.corpora.store import read_corpus
from stemcell.tasks import task as find_task
from stemcell.tasks.scoring import f1, main_score

LABELS = {"pos": ("tags",), "ner": ("labels",), "dep": ("relations", "heads"), "con": ("labels",), "srl": ("roles",)}
ITEMS = {"ner": ("starts", "ends", "labels"), "con": ("starts", "ends", "labels"),
         "srl": ("owners", "starts", "ends", "roles")}  # fmt: skip


def spoilt(task: str, row: dict[str, Any], pool: dict[str, list[Any]], chance: random.Random) -> dict[str, Any]:
    """A prediction: some labels are others, some items are gone and some are there twice."""
    guess = {name: list(value) for name, value in row.items() if name not in ("id", "words")}
    for name in LABELS[task]:
        guess[name] = [chance.choice(pool[name]) if chance.random() < 0.2 else value for value in guess[name]]
    if task in ITEMS:
        kept = [number for number in range(len(guess["starts"])) for _ in range(chance.choice([0, 1, 1, 1, 1, 2]))]
        guess.update({name: [guess[name][number] for number in kept] for name in ITEMS[task]})
    return guess


@pytest.mark.parametrize("task", LAYERS)
def test_they_sum_to_the_main_score(task: str, tmp_path: Path) -> None:
    write_demo(tmp_path / "demo", sizes=(5, 5, 80))
    chance = random.Random(3)
    references = [
        example_row(task, example) for example in read_corpus(tmp_path / "demo", layers=(task,))["test"][task]
    ]
    pool = {name: [value for row in references for value in row[name]] for name in LABELS[task]}
    if task == "con":
        pool["labels"] += ["TOP", "PRT", "ADVP"]
    predictions = [spoilt(task, row, pool, chance) for row in references]
    found = find_task(task)
    score = found.metric().compute(predictions=predictions, references=references)[found.main]
    counts = np.array(list(map(found.counts, predictions, references)))
    assert counts.shape == (80, 2 if task in ("pos", "dep") else 3)
    assert main_score(counts.sum(0)) == score
    assert 0.3 < score < 0.95
    # Of any part of the sentences too, as the bootstrap takes them.
    part = [chance.randrange(80) for _ in range(80)]
    one = found.metric().compute(
        predictions=[predictions[i] for i in part], references=[references[i] for i in part]
    )[found.main]  # fmt: skip
    assert main_score(counts[part].sum(0)) == one != score


def test_main_scores_are_those_of_single_counts() -> None:
    rows = np.array([[0, 0, 0], [0, 3, 0], [1, 2, 4], [7, 9, 11]])
    assert main_score(rows).tolist() == [f1(*map(int, row))[2] for row in rows]
    assert main_score(np.array([[0, 0], [1, 3]])).tolist() == [0, 1 / 3]
