"""What the atlas is told."""

from __future__ import annotations

import base64
import json
import re

import numpy as np
import pytest

from stemcell.atlas.data import NONE, STEPS, packed, page_data
from stemcell.atlas.examples import LONGEST, ROOM, SHORTEST, Gold, attend, choose, gold_items, take_examples
from stemcell.atlas.page import assemble, atlas_page, write_atlas
from tests.atlas.conftest import CLOSED, HOSTILE, REMOVED, Case
from tests.encoders.small import HEADS, LAYERS

CELLS = LAYERS * HEADS


def unpacked(text: str) -> np.ndarray:
    steps = np.frombuffer(base64.b64decode(text), "<u2").astype(float)
    return np.where(steps == NONE, np.nan, steps / STEPS - 1)


@pytest.fixture(scope="module")
def data(case: Case) -> dict:
    return page_data("a title", case.probed, take_examples(case.probed.target, case.layers))


def test_scores_come_back_within_half_a_step() -> None:
    values = np.array([-1, -0.33333, 0, 0.12345, 1, np.nan])
    np.testing.assert_allclose(unpacked(packed(values)), values, atol=0.5 / STEPS + 1e-12)


@pytest.mark.parametrize("measure", ["score", "low", "high", "control", "selectivity"])
def test_every_cell_is_told_in_its_place(case: Case, data: dict, measure: str) -> None:
    told = 0
    for probe in data["probes"]:
        names = [facts["label"] for facts in probe["labels"]]
        cells = case.probed.cells.query("task == @probe['task'] and mode == @probe['mode']")
        if measure not in probe["measures"]:
            assert cells[measure].isna().all()
            continue
        values = unpacked(probe["measures"][measure]).reshape(len(names), LAYERS, HEADS)
        assert values.size == len(cells)
        for row in cells.itertuples():
            value = values[names.index(row.label), row.layer - 1, row.head - 1]
            np.testing.assert_allclose(value, getattr(row, measure), atol=0.5 / STEPS + 1e-9)
        told += 1
    assert told


def test_heads_that_are_removed_or_closed_have_no_scores(data: dict) -> None:
    assert data["kept"] == [[0, 1, 2, 3], [0, 1, 2], [0, 1, 2, 3]]
    for probe in data["probes"]:
        values = unpacked(probe["measures"]["score"]).reshape(-1, CELLS)
        assert np.isnan(values[:, [REMOVED, CLOSED]]).all()
        assert np.isfinite(np.delete(values, [REMOVED, CLOSED], axis=1)).all()
    gates = unpacked(data["gates"]["joint"])
    assert gates[CLOSED] == 0
    assert (np.delete(gates, [REMOVED, CLOSED]) > 0.1).all()


def test_the_best_heads_and_the_baselines_of_labels(case: Case, data: dict) -> None:
    for probe in data["probes"]:
        for facts in probe["labels"]:
            own = case.probed.ranks.query(
                "task == @probe['task'] and mode == @probe['mode'] and label == @facts['label'] and by == 'score'"
            )
            expected = [(row.layer - 1) * HEADS + row.head - 1 for row in own.itertuples()]
            assert [head for head, _ in facts["best"]["score"]] == expected
            row = case.probed.labels.query(
                "task == @probe['task'] and mode == @probe['mode'] and label == @facts['label']"
            ).iloc[0]
            assert facts["count"] == row["count"]
            assert facts["baseline_score"] == pytest.approx(row["baseline_score"], abs=1e-4)


def test_attention_of_the_heads_that_there_are_adds_up_to_one(case: Case, data: dict) -> None:
    own = data["attention"]["joint"]
    assert len(own) == len(data["sentences"]) > 2
    for text, sentence in zip(own, data["sentences"], strict=True):
        size = len(sentence["words"]) + 1
        weights = np.frombuffer(base64.b64decode(text), np.uint8).reshape(CELLS - 1, size, size + 1) / 255
        np.testing.assert_allclose(weights.sum(-1), 1, atol=(size + 1) / 255 / 2)
        exact = attend(case.probed.target, sentence["words"], "pos")
        np.testing.assert_allclose(weights, exact, atol=0.5 / 255 + 1e-9)


def test_items_are_those_of_the_sentence(case: Case) -> None:
    gold = gold_items(case.layers)
    for example in case.layers["dep"]:
        arcs = zip(example.gold.heads, example.gold.relations, strict=True)
        expected = {(head, i, i, relation) for i, (head, relation) in enumerate(arcs, 1)}
        assert {(source, start, end, label) for source, start, end, label in gold[example.words]["dep"]} == expected
    for example in case.layers["pos"]:
        assert gold[example.words]["pos"] == [(None, i, i, tag) for i, tag in enumerate(example.gold, 1)]


def _gold(*sentences: tuple[int, str]) -> Gold:
    """Sentences of so many words whose items have the labels of the letters."""
    return {
        tuple(f"{number}.{i}" for i in range(size)): {"pos": [(None, 1, 1, label) for label in labels]}
        for number, (size, labels) in enumerate(sentences)
    }


def test_frequent_labels_are_shown_before_sentences_repeat_them() -> None:
    gold = _gold((8, "AA"), (8, "AA"), (8, "AA"), (8, "B"), (8, "C"), (30, "ABC"), (2, "ABC"))
    chosen = choose(gold, heads=1, count=3)
    assert {gold[words]["pos"][0][3] for words in chosen} == {"A", "B", "C"}
    assert all(SHORTEST <= len(words) <= LONGEST for words in chosen)
    assert len(choose(gold, heads=1)) == 5


def test_sentences_fit_into_their_room() -> None:
    gold = _gold(*[(20, "A")] * 9)
    assert len(choose(gold, heads=ROOM // (21 * 22) // 3)) == 3
    assert choose(gold, heads=ROOM) == []
    assert choose({}, heads=1) == []


def test_short_sentences_do_where_there_are_no_others() -> None:
    assert [len(words) for words in choose(_gold((3, "A"), (30, "A"), (2, "B")), heads=1)] == [2, 3]


def test_sentences_without_labels_are_shown_too() -> None:
    assert len(choose(_gold((9, ""), (8, "")), heads=1)) == 2


def test_no_text_can_end_the_data(case: Case) -> None:
    page = atlas_page(HOSTILE, case.probed, case.layers)
    body = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert body is not None
    told = json.loads(body[1])
    assert told["title"] == HOSTILE
    assert HOSTILE in [facts["label"] for probe in told["probes"] for facts in probe["labels"]]
    assert HOSTILE not in page
    assert page.count("</script>") == 2


def test_marks_in_the_data_are_left_as_they_are() -> None:
    assert '"@STYLE@"' in assemble("@DATA@", {"label": "@STYLE@"})


def test_the_page_asks_for_nothing(case: Case) -> None:
    page = atlas_page("x", case.probed, case.layers)
    assert "default-src 'none'" in page
    assert not re.search(r"https?://|@import|url\(", page)


def test_only_tasks_that_were_probed_are_told(case: Case) -> None:
    import dataclasses

    cells, labels, ranks = (
        table[table["task"] == "dep"] for table in (case.probed.cells, case.probed.labels, case.probed.ranks)
    )
    probed = dataclasses.replace(case.probed, cells=cells, labels=labels, ranks=ranks)
    assert '"pos"' not in atlas_page("x", probed, case.layers)


def test_the_file_is_written_and_small(case: Case, tmp_path) -> None:
    path = tmp_path / "new" / "atlas.html"
    write_atlas(path, "small", case.probed, case.layers)
    assert path.read_text("utf-8").startswith("<!doctype html>")
    assert path.stat().st_size < 200_000
