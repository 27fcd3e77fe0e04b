"""Runs side by side: what belongs together, what it is called, and what is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stemcell.errors import UserError
from stemcell.heads.report import compare, comparison_text, read_runs, run_text, terminal_map
from tests.heads.runs import gates, pruned

OPEN = gates([1, 1], [0, 0])
HALF = gates([1, 0], [0.5, 0])


def labels(*paths: Path) -> dict[str, list[str]]:
    comparison = compare(read_runs([str(path) for path in paths]), 1e-3)
    return {label: [each.name for each in group] for label, group in comparison.groups.items()}


def test_shades_tell_closed_partial_and_open_apart() -> None:
    values = np.array([[0.0, 1e-3, 0.0011, 0.34], [0.67, 0.99, 1.0, 0.33]])
    assert terminal_map(values, values > 1e-3).splitlines() == [
        "layer   1  2  3  4   kept",
        "    2  ▓▓ ▓▓ ██ ░░      4",
        "    1   ·  · ░░ ▒▒      2",
    ]


def test_the_largest_encoder_fits_a_terminal() -> None:
    lines = terminal_map(np.ones((24, 16)), np.ones((24, 16), bool)).splitlines()
    assert len(lines) == 25
    assert max(map(len, lines)) <= 80
    assert len({len(line) for line in lines}) == 1


def test_seeds_of_one_configuration_belong_together_in_order(tmp_path: Path) -> None:
    runs = [
        pruned(tmp_path / f"{task}-{seed}", {1: HALF}, [task], seed, experiment=f"of seed {seed}")
        for task in ("ner", "pos")
        for seed in (10, 2)
    ]
    assert labels(*(run.path for run in runs)) == {"pos": ["pos-2", "pos-10"], "ner": ["ner-2", "ner-10"]}


def test_labels_name_tasks_sets_and_only_settings_that_differ(tmp_path: Path) -> None:
    five = ("pos", "ner", "dep", "con", "srl")
    sets = {name: HALF["joint"] for name in ("con", "srl")}
    paths = [
        pruned(tmp_path / "sets", {1: sets}, ("con", "srl"), gates="per-task").path,
        pruned(tmp_path / "all", {1: HALF}, five).path,
        pruned(tmp_path / "strong", {1: HALF}, ("pos",), l0_penalty=0.1, data="some/where/ewt").path,
        pruned(tmp_path / "weak", {1: HALF}, ("pos",), l0_penalty=0.001, data="else/where/ewt5").path,
    ]
    assert labels(*paths) == {
        "pos (l0-penalty 0.1, data ewt)": ["strong"],
        "pos (l0-penalty 0.001, data ewt5)": ["weak"],
        "con of con+srl": ["sets:con"],
        "srl of con+srl": ["sets:srl"],
        "MTL-5": ["all"],
    }


def test_the_same_run_again_adds_nothing(tmp_path: Path) -> None:
    first = pruned(tmp_path / "first", {1: HALF}).path
    again = pruned(tmp_path / "again", {1: HALF}).path
    assert len(read_runs([str(first), str(first / ".." / "first")])) == 1
    comparison = compare(read_runs([str(first), str(again)]), 1e-3)
    assert [each.name for each in comparison.maps()] == ["first"]
    assert comparison.repeated == ["again"]
    assert comparison_text(comparison) == ""


def test_runs_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    paths = [pruned(tmp_path / place / "run", {1: HALF}, seed=seed).path for seed, place in enumerate(("a", "b"))]
    assert [run.name for run in read_runs([str(path) for path in paths])] == ["a/run", "b/run"]


def test_runs_of_different_encoders_are_refused(tmp_path: Path) -> None:
    one = pruned(tmp_path / "one", {1: HALF}).path
    other = pruned(tmp_path / "other", {1: HALF}, encoder="minilm").path
    with pytest.raises(UserError, match=r"one and .*other are not of one encoder.*same encoder"):
        read_runs([str(one), str(other)])
    smaller = pruned(tmp_path / "smaller", {1: gates([1, 0])}).path
    with pytest.raises(UserError, match=r"tiny-bert of 2 layers x 2 heads; tiny-bert of 1 layers x 2 heads"):
        read_runs([str(one), str(smaller)])
    short, full = (
        pruned(tmp_path / name.replace("/", "-"), {1: HALF}, seed=seed, encoder=name).path
        for seed, name in enumerate(("bert", "google-bert/bert-base-cased"))
    )
    assert len(read_runs([str(short), str(full)])) == 2


def test_a_run_says_where_its_map_is_from(tmp_path: Path) -> None:
    path = pruned(tmp_path / "run", {5: OPEN, 1200: HALF, 2000: OPEN}, ["ner"], 7, best=1200).path
    first, *lines = run_text(read_runs([str(path)])[0], 0.6).splitlines()
    assert first == "run · ner · dynamic · seed 7 · step 1,200 (evaluation 2 of 3)"
    assert lines == [
        "layer   1  2   kept",
        "    2   ·  ·      0",
        "    1  ██  ·      1",
        "joint: 1 of 4 heads kept (25.0%)",
    ]


def test_overlap_is_of_the_heads_that_most_seeds_keep(tmp_path: Path) -> None:
    rows = {"pos": ([1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0]), "ner": ([0, 1, 1, 1], [1, 1, 1, 1], [1, 1, 0, 1])}
    paths = [
        pruned(tmp_path / f"{task}-{seed}", {1: gates(row)}, [task], seed).path
        for task, kept in rows.items()
        for seed, row in enumerate(kept)
    ]
    comparison = compare(read_runs([str(path) for path in paths]), 1e-3)
    assert {label: mask.tolist() for label, mask in comparison.masks().items()} == {
        "pos": [[True, False, False, False]],
        "ner": [[True, True, True, True]],
    }
    assert list(comparison.between_groups()) == [("pos", "ner")]
    assert len(comparison.between_runs()) == 15
    words = [line.split() for line in comparison_text(comparison).splitlines()]
    assert ["pos", "–", "ner", "1", "4", "1", "1.0", "1", "0.25"] in words
    # Seeds of pos: pairs share 1 of 3, 1 of 2, 1 of 2; by chance all three keep 4 x 2/4 x 2/4 x 1/4.
    assert ["pos", "0,1,2", "0.44", "1", "0.2", "1", "0.8"] in words
