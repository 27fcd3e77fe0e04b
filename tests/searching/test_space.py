"""Search spaces: the shipped ones, and what is wrong with others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from stemcell.config import from_dict
from stemcell.errors import UserError
from stemcell.searching.space import Choice, Range, distributions, find_sweep, read_sweep, shipped

FLAGS = {"static": {"from_run": "runs/pos"}}
"""What a shipped sweep needs beside its file."""


@pytest.mark.parametrize("name", shipped())
def test_shipped_sweeps_are_sound(name: str) -> None:
    sweep = read_sweep(find_sweep(name), FLAGS.get(name, {}))
    assert set(sweep.space) & set(sweep.base) == set()
    for field, part in sweep.space.items():
        ends = part.choices if isinstance(part, Choice) else (part.low, part.high)
        for end in ends:
            from_dict({**sweep.base, field: end})
    assert distributions(sweep.space).keys() == sweep.space.keys()
    assert find_sweep(name).read_text("utf-8").startswith("# "), "says which question it asks"


def test_there_is_one_for_each_question() -> None:
    assert set(shipped()) >= {"default", "pareto", "per-task-gates", "single-task", "static", "temperature"}
    default = read_sweep(find_sweep("default"), {})
    assert default.space["l0_penalty"] == Range(0.0003, 0.1, log=True)
    assert isinstance(default.space["sampling_temperature"], Range)
    assert (default.base["prune"], default.trials, default.objectives) == ("dynamic", 20, ("dev/average",))
    assert default.heads_budget == 0.5
    assert read_sweep(find_sweep("pareto"), {}).objectives == ("dev/average", "heads")
    assert len({read_sweep(find_sweep(name), FLAGS.get(name, {})).name for name in shipped()}) == len(shipped())


@pytest.fixture
def write(tmp_path: Path) -> Path:
    return tmp_path / "my.yaml"


def test_fields_of_every_kind_can_be_searched(write: Path) -> None:
    write.write_text(
        "space:\n  epochs: {low: 2, high: 9}\n  encoder_lr: {low: 1e-6, high: 1e-4, log: true}\n"
        "  encoder: [tiny-bert, tiny-roberta]\n  projective: [true, false]\n  prune: ['no', dynamic]\n"
    )
    sweep = read_sweep(write, {"seed": 3})
    found = distributions(sweep.space)
    assert found["epochs"] == IntDistribution(2, 9)
    assert found["encoder_lr"] == FloatDistribution(1e-6, 1e-4, log=True)
    assert found["encoder"] == CategoricalDistribution(("tiny-bert", "tiny-roberta"))
    assert found["projective"] == CategoricalDistribution((True, False))
    assert (sweep.name, sweep.base, sweep.trials) == ("my", {"seed": 3}, 20)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("space:\n  l0_penalti: {low: 1, high: 2}", 2, "unknown field 'l0_penalti': did you mean 'l0_penalty'?"),
        ("spase:\n  l0_penalty: {low: 1, high: 2}", 1, "unknown key 'spase': did you mean 'space'?"),
        ("space:\n  epochs: {low: 5, high: 5}", 2, "epochs has an empty range, from 5 to 5"),
        ("space:\n  epochs: {low: 5, high: 2}", 2, "epochs has a reversed range, from 5 to 2"),
        ("space:\n  l0_penalty: {low: 0, high: 1, log: true}", 2, "a range with log starts above 0, not at 0"),
        ("space:\n  encoder_lr: {low: -1, high: 1}", 2, "encoder-lr is -1.0: it must be above 0"),
        ("space:\n  word_dropout: {low: 0, high: 1.5}", 2, "word-dropout is 1.5"),
        ("space:\n  epochs: {low: 1.5, high: 3}", 2, "epochs is a whole number"),
        ("space:\n  encoder: {low: 1, high: 3}", 2, "encoder has no range: give a list of choices"),
        ("space:\n  gates: [joint, pertask]", 2, "unknown gates 'pertask': did you mean 'per-task'?"),
        ("space:\n  gates: [joint]", 2, "gates needs at least two plain values"),
        ("space:\n  gates: [joint, joint]", 2, "gates has a choice twice"),
        ("space:\n  epochs: {low: 1, hihg: 3}", 2, "epochs needs a range"),
        ("space:\n  epochs: {low: 1, high: 3, logg: true}", 2, "unknown key 'logg': did you mean 'log'?"),
        ("space:\n  epochs: {low: one, high: 3}", 2, "epochs: low is 'one': it must be a finite number"),
        ("space:\n  seed: {low: 1, high: .inf}", 2, "must be a finite number"),
        ("space:\n  tasks: [pos, dep]", 2, "tasks cannot be searched"),
        ("space: {}", 1, "nothing to search"),
        ("trials: 3", 1, "nothing to search"),
        ("space:\n  epochs: {low: 1, high: 3\ntrials: 3", 3, "not valid YAML"),
        ("space:\n  epochs: {low: 1, high: 3}\n  epochs: {low: 1, high: 4}", 3, "epochs is there twice, in line 2 too"),
        ("- 1", 1, "expected lines of the form 'key: value'"),
        ("S\nobjectives: [dev/averag]", 3, "unknown objective 'dev/averag': did you mean 'dev/average'?"),
        ("S\nobjectives: [dev/average, heads]", 3, "nothing is pruned; set prune in base"),
        ("S\nheads_budget: 0.5", 3, "heads_budget has no effect: nothing is pruned"),
        ("S\nbase: {prune: dynamic}\nheads_budget: 50", 4, "a share of the heads, from 0 to 1"),
        ("S\nbase: {prune: dynamik}", 3, "unknown prune 'dynamik': did you mean 'dynamic'?"),
        ("S\nbase:\n  ephocs: 3", 4, "unknown field 'ephocs': did you mean 'epochs'?"),
        ("S\nsampler: tpee", 3, "unknown sampler 'tpee': did you mean 'tpe'?"),
        ("S\nsampler: {name: tpe, sede: 3}", 3, "unknown key of sampler 'sede': did you mean 'seed'?"),
        ("S\nsampler: {seed: -3}", 3, "sampler: seed is -3: a whole number from 0"),
        ("S\npruner: medain", 3, "unknown pruner 'medain': did you mean 'median'?"),
        ("S\ntrials: 0", 3, "trials is 0: at least 1"),
        ("S\nname: a/b", 3, "name is 'a/b': use letters"),
        ("S\nbase: {prune: dynamic}\nobjectives: [dev/average, heads]\npruner: median", 5, "no trial can be pruned"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line(write: Path, text: str, line: int, message: str) -> None:
    write.write_text(re.sub("^S$", "space:\n  epochs: {low: 1, high: 3}", text, flags=re.MULTILINE))
    with pytest.raises(UserError) as error:
        read_sweep(write, {})
    assert str(error.value).startswith(f"{write}:{line}: ")
    assert message in str(error.value)


def test_a_flag_for_what_is_searched_is_refused() -> None:
    with pytest.raises(UserError, match="--l0-penalty is given, but this sweep searches it"):
        read_sweep(find_sweep("default"), {"l0_penalty": 0.1})


def test_names_of_sweeps(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"unknown sweep 'parteo': did you mean 'pareto'\?.*or a file NAME.yaml"):
        find_sweep("parteo")
    with pytest.raises(UserError, match=r"missing\.yaml: cannot be read"):
        read_sweep(tmp_path / "missing.yaml", {})
