"""Studies are read as they are written, in order, and what is wrong in one is said with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stemcell.corpora.layers import LAYERS
from stemcell.encoders.names import HUB, MINILM, TINY
from stemcell.errors import UserError
from stemcell.presets import preset
from stemcell.studying.grid import Study, find_study, shipped
from stemcell.studying.reading import read_study

SIZES = ("smoke", "small", "paper")
PAPER = ("bert", "roberta", "electra", "deberta")
MODELS = {"stl-mtl": 16, "probes": 16, "pruning": 17}
"""The shipped studies, and how many models each has."""

TEXT = """\
models:
  - tasks: [pos, mtl5]
    modes: [plain, dp]
  - tasks: [pos]
    modes: [sp]
encoders: [tiny-bert, tiny-roberta]
seeds: [1, 2]
demo: [60, 20, 20]
train: {epochs: 2, encoder_lr: 1e-3}
modes:
  dp:
    gate_lr: 0.5
    l0_penalty: {pos: 0.03, mtl5: 0.01}
after: [evaluate, probe]
pretrained: true
sizes:
  first: {seeds: [1]}
  second:
    data: elsewhere
    encoders: [tiny-bert]
    train: {epochs: 3}
    modes:
      dp: {gate_lr: 0.2}
"""


def study(folder: Path, text: str = TEXT, size: str = "", **given: Any) -> Study:
    path = folder / "mine.yaml"
    path.write_text(text)
    return read_study(path, size, **given)


def test_runs_come_seed_by_seed_then_model_by_model_with_encoders_inside(tmp_path: Path) -> None:
    names = [run.name for run in study(tmp_path, size="second", encoders=("tiny-bert", "tiny-roberta")).runs]
    models = ["pos", "mtl5", "pos-dp", "mtl5-dp", "pos-sp"]
    assert names == [
        f"{encoder}-{model}-seed{seed}"
        for seed in (1, 2)
        for model in models
        for encoder in ("tiny-bert", "tiny-roberta")
    ]


def test_a_size_goes_over_what_holds_for_all(tmp_path: Path) -> None:
    first, second = study(tmp_path), study(tmp_path, size="second")
    assert (first.name, second.name) == ("mine-first", "mine-second")
    assert (first.seeds, second.seeds) == ((1,), (1, 2))
    assert (first.demo, first.data) == ((60, 20, 20), "")
    assert (second.demo, second.data) == (None, "elsewhere")
    for whole, epochs, rate in ((first, 2, 0.5), (second, 3, 0.2)):
        runs = {run.name: run.config for run in whole.runs}
        assert runs["tiny-bert-pos-seed1"].epochs == epochs
        assert runs["tiny-bert-pos-seed1"].encoder_lr == 1e-3
        assert runs["tiny-bert-pos-dp-seed1"].gate_lr == rate
    assert first.pretrained == ("tiny-bert", "tiny-roberta")
    assert first.after == ("evaluate", "probe")


def test_settings_may_depend_on_mode_and_tasks(tmp_path: Path) -> None:
    runs = {run.name: run for run in study(tmp_path).runs}
    assert runs["tiny-bert-pos-dp-seed1"].config.l0_penalty == 0.03
    assert runs["tiny-bert-mtl5-dp-seed1"].config.l0_penalty == 0.01
    assert runs["tiny-bert-mtl5-seed1"].config.prune == "no"
    assert runs["tiny-bert-pos-sp-seed1"].config.prune == "static"
    assert runs["tiny-bert-pos-sp-seed1"].start == "tiny-bert-pos-seed1"
    assert runs["tiny-bert-pos-dp-seed1"].start == ""


def test_flags_go_over_the_file(tmp_path: Path) -> None:
    given = study(tmp_path, data="corpus", encoders=["tiny-electra"], seeds=[7])
    assert (given.data, given.demo) == ("corpus", None)
    assert {(run.config.encoder, run.config.seed) for run in given.runs} == {("tiny-electra", 7)}


def test_what_is_written_otherwise_is_the_same_study(tmp_path: Path) -> None:
    same = TEXT.replace("1e-3", "0.001").replace("{pos: 0.03, mtl5: 0.01}", "{mtl5: 1e-2, pos: 3e-2}")
    assert study(tmp_path).settings == study(tmp_path, same).settings
    assert study(tmp_path).settings != study(tmp_path, TEXT.replace("0.03", "0.04")).settings


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("encoders:", "encoder:", 6, "unknown key 'encoder': did you mean 'encoders'?"),
        ("tasks: [pos]\n", "task: [pos]\n", 4, "did you mean 'tasks'?"),
        ("mtl5]", "mlt5]", 2, "unknown tasks 'mlt5': did you mean 'mtl5'?"),
        ("[pos, mtl5]", "[pos, pos-pos]", 2, "pos-pos has a task twice"),
        ("[pos, mtl5]", "[pos, pos]", 2, "pos is there twice"),
        ("[plain, dp]", "[plian, dp]", 3, "unknown mode 'plian': did you mean 'plain'?"),
        ("[plain, dp]", "[dp]", 4, "sp starts from pos in mode plain"),
        ("[sp]", "[plain]", 3, ""),
        ("tiny-roberta]", "tiny-robreta]", 6, "did you mean 'tiny-roberta'?"),
        ("{seeds: [1]}", "{seeds: [1, 1]}", 17, "a seed is there twice"),
        ("{seeds: [1]}", "{seeds: [one]}", 17, "whole numbers"),
        ("demo: [60, 20, 20]", "demo: [60, 20]", 8, "numbers of sentences"),
        ("demo: [60, 20, 20]", "demo: [60, 20, 20]\ndata: x", 8, "both demo and data"),
        ("epochs: 2", "epoch: 2", 9, "unknown field 'epoch': did you mean 'epochs'?"),
        ("epochs: 2", "epochs: many", 9, "epochs is 'many'"),
        ("epochs: 2", "epochs: 0", 9, "it must be from 1"),
        ("epochs: 2", "seed: 2", 9, "a study has the key seeds for it"),
        ("epochs: 2", "prune: dynamic", 9, "the modes of models"),
        ("  dp:\n", "  dpp:\n", 11, "unknown key of modes 'dpp': did you mean 'dp'?"),
        ("  dp:\n", "  dp-per-task:\n", 11, "no model has the mode dp-per-task"),
        ("gate_lr: 0.5", "gate_rl: 0.5", 12, "did you mean 'gate_lr'?"),
        ("{pos: 0.03, mtl5: 0.01}", "{pos: 0.03}", 13, "l0_penalty has no value for mtl5"),
        ("{pos: 0.03, mtl5: 0.01}", "{stl: 0.03, mtl5: 0.01}", 13, "name tasks"),
        ("{pos: 0.03, mtl5: 0.01}", "{pos: -1, mtl5: 0.01}", 13, "0 or more"),
        ("[evaluate, probe]", "[evalaute, probe]", 14, "unknown step 'evalaute': did you mean 'evaluate'?"),
        ("[evaluate, probe]", "[evaluate]", 15, "'after' has no probe"),
        ("pretrained: true", "pretrained: maybe", 15, "true or false"),
        ("first: {seeds: [1]}", "first: {seed: [1]}", 17, "did you mean 'seeds'?"),
        ("    encoders: [tiny-bert]", "    data: twice", 20, "data is there twice, in line 19 too"),
        ("models:", "name: a/b\nmodels:", 1, "use letters"),
        ("after: [", "after: [[", 15, "not valid YAML"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, old: str, new: str, line: int, said: str) -> None:
    assert old in TEXT
    if not said:
        study(tmp_path, TEXT.replace(old, new, 1))
        return
    with pytest.raises(UserError) as caught:
        study(tmp_path, TEXT.replace(old, new, 1))
    assert str(caught.value).startswith(f"{tmp_path / 'mine.yaml'}:{line}: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("models:\n  - tasks: stl\n", "no encoders"),
        ("encoders: tiny-bert\n", "models must be a list"),
        ("- a\n- b\n", "expected lines"),
        ("", "expected lines"),
    ],
)
def test_what_is_missing_is_said(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        study(tmp_path, text)


def test_sizes_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'second'"):
        study(tmp_path, size="secnd")
    with pytest.raises(UserError, match="it has no sizes"):
        study(tmp_path, "models:\n  - tasks: stl\nencoders: tiny-bert\n", size="small")
    with pytest.raises(UserError, match="did you mean 'pruning'"):
        find_study("prunning")
    with pytest.raises(UserError, match="cannot be read"):
        read_study(find_study(str(tmp_path / "none.yaml")))


def test_encoders_whose_runs_would_have_the_same_names(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "same").mkdir(parents=True)
    with pytest.raises(UserError, match="same names"):
        study(tmp_path, encoders=[str(tmp_path / "a" / "same"), str(tmp_path / "b" / "same")])


def test_these_studies_are_shipped() -> None:
    assert set(shipped()) == set(MODELS)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("size", SIZES)
def test_shipped_studies_are_valid_in_all_sizes(name: str, size: str) -> None:
    whole = read_study(shipped()[name], size, data="" if size == "smoke" else "corpus")
    encoders = {"smoke": TINY, "small": (MINILM,), "paper": PAPER}[size]
    seeds = {"smoke": (1,), "small": (1, 2), "paper": (1, 2, 3)}[size]
    assert whole.name == f"{name}-{size}"
    assert (whole.encoders, whole.seeds) == (encoders, seeds)
    assert len(whole.runs) == MODELS[name] * len(encoders) * len(seeds)
    assert len({run.name for run in whole.runs}) == len(whole.runs)
    assert (whole.demo is not None) == (size == "smoke")
    assert "evaluate" in whole.after
    singles = [run.config.tasks for run in whole.runs[: 5 * len(encoders) : len(encoders)]]
    assert singles == [(task,) for task in LAYERS]
    if name != "pruning":
        assert len({run.config.tasks for run in whole.runs}) == 5 + 10 + 1
    else:
        assert {run.config.prune for run in whole.runs} == {"no", "dynamic", "static"}
    assert bool(whole.pretrained) == (name == "probes")


@pytest.mark.parametrize("name", MODELS)
def test_the_paper_size_has_the_settings_of_the_release(name: str) -> None:
    assert set(PAPER) < set(HUB)
    for run in read_study(shipped()[name], "paper", data="corpus").runs:
        fields = preset("paper", run.config.encoder, run.config.tasks, run.config.prune)
        assert {field: getattr(run.config, field) for field in fields} == fields


@pytest.mark.parametrize(("name", "runs"), [("study", 44), ("stem", 18)])
def test_the_studies_of_the_results_can_be_made_again(name: str, runs: int) -> None:
    root = Path(__file__).parents[2]
    whole = read_study(root / "sweeps" / "results" / "small" / f"{name}.yaml", "", data="corpus")
    assert len(whole.runs) == runs
    assert whole.pretrained == (MINILM,)
    assert f"sweeps/results/small/{name}.yaml" in (root / "docs" / "results.md").read_text("utf-8")
