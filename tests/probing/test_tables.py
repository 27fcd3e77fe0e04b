"""Intervals, best heads and baselines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from stemcell.corpora.layers import Constituents, Example, Span
from stemcell.encoders.load import untrained
from stemcell.errors import UserError
from stemcell.probing.controls import ControlTags, relabelled
from stemcell.probing.run import probe, probe_all
from stemcell.probing.table import COLUMNS, LABEL_COLUMNS, best_table
from stemcell.probing.tally import Tally, sample_weights
from stemcell.tasks.con.probe import at_height, heights
from tests.encoders.small import HEADS, LAYERS, small
from tests.probing import texts


@pytest.fixture(scope="module")
def result():
    return probe_all(small("tiny-bert", "eager"), texts.corpus(), samples=50)


def test_columns_and_places(result) -> None:
    cells = result.cells
    assert list(cells.columns) == COLUMNS
    assert sorted(set(cells["mode"])) == ["link", "same-split", "train-split"]
    assert (cells.layer.min(), cells.layer.max()) == (1, LAYERS)
    assert (cells["head"].min(), cells["head"].max()) == (1, HEADS)
    assert not cells.duplicated(["task", "label", "layer", "head", "mode"]).any()
    assert ((cells.low <= cells.score + 1e-9) & (cells.score <= cells.high + 1e-9)).mean() > 0.98


def test_the_best_heads_are_those_of_the_cells(result) -> None:
    assert list(result.labels.columns) == LABEL_COLUMNS
    for row in result.labels.itertuples():
        own = result.cells.query("task == @row.task and mode == @row.mode and label == @row.label")
        assert row.best_score == own.score.max()
        best = own[(own.layer == row.best_layer) & (own["head"] == row.best_head)]
        assert best.score.item() == row.best_score
        assert row.best_is_best == pytest.approx(
            result.ranks.query(
                "task == @row.task and mode == @row.mode and label == @row.label and by == 'score'"
            ).is_best.iloc[0]
        )
        assert pd.isna(row.best_selectivity) == (row.controlled == 0)
        if row.controlled:
            assert row.best_selectivity == own.selectivity.max()
    assert result.labels[result.labels.task.isin(["ner", "con"])].controlled.eq(0).all()
    assert (result.labels[result.labels.task.isin(["pos", "dep", "srl"])].controlled > 0).any()
    text = best_table(result.labels)
    assert "AM-TMP" in text
    assert "POS · train-split" in text


def test_a_label_that_training_lacks_is_never_right_with_its_centroids(result) -> None:
    new = result.cells.query("task == 'pos' and label == 'NEW'")
    assert (new.score[new["mode"] == "train-split"] == 0).all()
    # Its only item is its own centroid.
    assert (new.score[new["mode"] == "same-split"] == 1).all()


def test_baselines_by_hand(result) -> None:
    arcs = [
        (relation, abs(head - word))
        for example in texts.corpus()["test"]["dep"]
        for word, (head, relation) in enumerate(zip(example.gold.heads, example.gold.relations, strict=True), 1)
    ]
    for row in result.labels.query("task == 'dep'").itertuples():
        distances = [distance for relation, distance in arcs if relation == row.label]
        shares = [distances.count(offset) / len(distances) for offset in range(6)]
        assert row.baseline_score == max(shares)
        assert row.baseline == f"offset ±{shares.index(max(shares))}"
    tags = result.labels.query("task == 'pos' and mode == 'same-split'")
    assert tags.baseline_score.tolist() == (tags["count"] == tags["count"].max()).astype(float).tolist()


def test_tallies_are_sums_by_label_weighted_by_sample() -> None:
    generator = torch.Generator().manual_seed(0)
    values = torch.rand(9, 2, generator=generator, dtype=torch.float64)
    sentence, label = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2, 2]), torch.tensor([0, 1, 1, 0, 2, 2, 2, 1, 0])
    weights = sample_weights([7, 3, 5], 4)
    tally = Tally([2], 3, 4, torch.device("cpu"), torch.float64)
    # However the sentences are batched.
    tally.add(0, values[:3], sentence[:3], label[:3], torch.from_numpy(weights[:, :1]))
    tally.add(0, values[3:], sentence[3:] - 1, label[3:], torch.from_numpy(sample_weights([3, 5], 4)))
    total = tally.total([[1, 3]], 4)[:, :, 0]
    assert np.isnan(total[..., [0, 2]]).all()
    for sample in range(5):
        for y in range(3):
            wanted = sum(weights[sample, sentence[i]] * values[i] for i in range(9) if label[i] == y)
            assert total[sample, y, [1, 3]] == pytest.approx(wanted.numpy(), abs=1e-12)
    assert (weights[0] == 1).all()


def test_the_interval_is_about_as_wide_as_that_of_a_binomial() -> None:
    """One item a sentence: the bootstrap must agree with the formula."""
    generator = torch.Generator().manual_seed(0)
    right = (torch.rand(400, 1, generator=generator) < 0.3).double()
    tally = Tally([1], 1, 2000, torch.device("cpu"), torch.float64)
    count = Tally([1], 1, 2000, torch.device("cpu"), torch.float64)
    weights, zero = torch.from_numpy(sample_weights(range(400), 2000)), torch.zeros(400, dtype=torch.long)
    tally.add(0, right, torch.arange(400), zero, weights)
    count.add(0, torch.ones_like(right), torch.arange(400), zero, weights)
    shares = (tally.sums[0] / count.sums[0]).flatten()
    p = shares[0].item()
    assert shares[1:].std().item() == pytest.approx((p * (1 - p) / 400) ** 0.5, rel=0.06)
    assert shares[1:].mean().item() == pytest.approx(p, abs=0.002)


def test_without_train_one_mode_is_left_and_that_is_said(capsys) -> None:
    corpus = {"test": texts.corpus()["test"]}
    frame = probe(small("tiny-bert", "eager"), corpus, ["pos", "dep"], samples=0)
    assert sorted(set(frame["mode"])) == ["link", "same-split"]
    assert frame.low.isna().all()
    assert capsys.readouterr().err.count("no train sentences for pos") == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tasks": ["pso"]}, "did you mean 'pos'"),
        ({"split": "tset"}, "did you mean 'test'"),
        ({"split": "dev", "tasks": ["pos"]}, "no dev sentences for pos"),
        ({"split": "dev"}, "no dev sentences"),
        ({"model": "no-such-thing"}, "neither a run, an export nor an encoder"),
        ({"model": "./no-such-folder"}, "neither a run, an export nor an encoder"),
    ],
)
def test_what_cannot_be_done_is_said(change: dict, message: str) -> None:
    given = {"model": small("tiny-bert", "eager"), "tasks": None, "split": "test", **change}
    with pytest.raises(UserError, match=message):
        probe(given["model"], texts.corpus(), given["tasks"], split=given["split"])


def test_the_best_three_come_in_order_and_their_shares_add_up_to_one_at_most(result) -> None:
    key = ["task", "mode", "label"]
    for (*place, by), own in result.ranks.groupby([*key, "by"]):
        cells = result.cells[(result.cells[key] == place).all(axis=1)].dropna(subset=[by])
        assert own["rank"].tolist() == [1, 2, 3]
        assert own[by].tolist() == sorted(cells[by], reverse=True)[:3]
        assert own.is_best.sum() <= 1 + 1e-9
    assert result.ranks.is_best.max() > 0.5


def test_control_tags_depend_on_the_word_alone_and_are_as_frequent_as_the_tags() -> None:
    words = tuple(f"w{number}" for number in range(4000))
    gold = tuple("NN" if number % 4 else "VB" for number in range(4000))
    tags = ControlTags([Example("s", words, gold)])
    drawn = [tags[word] for word in words]
    assert drawn.count("VB") / 4000 == pytest.approx(0.25, abs=0.03)
    both = sum(a == b for a, b in zip(drawn, gold, strict=True)) / 4000
    assert both == pytest.approx(0.25 * 0.25 + 0.75 * 0.75, abs=0.03)
    again = ControlTags([Example("s", words[::-1], gold[::-1])])
    assert [again[word] for word in words] == drawn


def test_blanks_are_no_control_tags_and_have_none() -> None:
    example = Example("s", ("a", "b", "c"), ("NN", "_", "NN"))
    (controlled,) = relabelled([example], ControlTags([example]))
    assert controlled.gold == ("NN", "_", "NN")


def test_heights_of_constituents() -> None:
    tree = Constituents(("x",) * 4, tuple(Span(*own) for own in [
        (0, 3, "S"), (0, 0, "NP"), (1, 3, "VP"), (2, 3, "VP"), (3, 3, "NP"), (3, 3, "QP")]))  # fmt: skip
    assert heights(tree) == [7, 3, 6, 5, 4, 3]
    assert [span.label for span in _spans(tree, 3)] == ["NP", "QP"]
    assert [span.label for span in _spans(tree, 5)] == ["VP"]
    assert len(_spans(tree, None)) == 6


def _spans(tree: Constituents, height: int | None) -> list[Span]:
    return list(at_height(height).items(tree))


def test_other_heights_are_other_constituents() -> None:
    encoder = small("tiny-bert", "eager")
    three, everything = (
        probe_all(encoder, texts.corpus(), ["con"], samples=0, con_height=height).labels for height in (3, None)
    )
    brackets = sum(len(example.gold.brackets) for example in texts.corpus()["test"]["con"])
    count = everything[everything["mode"] == "same-split"]["count"].sum()
    assert three[three["mode"] == "same-split"]["count"].sum() < count == brackets


def test_untrained_encoders_stand_beside_the_scores() -> None:
    encoder = small("tiny-bert", "eager")
    before = {name: value.clone() for name, value in encoder.model.state_dict().items()}
    labels = probe_all(encoder, texts.corpus(), ["dep", "pos"], samples=0, baseline="untrained").labels
    assert all(torch.equal(value, before[name]) for name, value in encoder.model.state_dict().items())
    assert labels.untrained_score.between(0, 1).all()
    assert labels.untrained_deviation.gt(0).any()
    one = [
        probe_all(untrained(encoder, seed), texts.corpus(), ["dep"], samples=0).labels.best_score for seed in (1, 2, 3)
    ]
    wanted = np.mean(one, axis=0)
    assert labels[labels.task == "dep"].untrained_score.to_numpy() == pytest.approx(wanted)
    assert "untrained" in best_table(labels)
