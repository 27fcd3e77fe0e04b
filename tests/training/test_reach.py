"""Whether gates can close within a run's steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from stemcell.config import RunConfig, from_dict
from stemcell.corpora.demo import write_demo
from stemcell.corpora.store import Corpus, read_corpus
from stemcell.errors import UserError
from stemcell.searching.space import find_sweep, read_sweep, shipped
from stemcell.searching.sweep import _check_gates, resolve
from stemcell.studying import work
from stemcell.studying.grid import find_study
from stemcell.studying.reading import read_study
from stemcell.training.reach import cannot_close, cannot_close_on
from stemcell.training.sampling import Schedule


def schedule(**sentences: int) -> Schedule:
    sizes = {task: [5] * count for task, count in sentences.items()}
    return Schedule(sizes, seed=1, temperature=1.0, sentences=10, tokens=1000)


def pruned(rate: float, epochs: int = 3, **more: object) -> RunConfig:
    return RunConfig(prune="dynamic", gate_lr=rate, epochs=epochs, **more)  # type: ignore[arg-type]


def test_too_few_steps_are_told_with_the_rate_that_would_do() -> None:
    steps = schedule(pos=100, ner=50)
    said = cannot_close(pruned(0.001), steps)
    assert "45 steps at --gate-lr 0.001" in said
    assert "give --gate-lr 0.2 or more" in said
    assert cannot_close(pruned(0.2), steps) == ""
    assert cannot_close(pruned(0.001, epochs=200), steps) == ""
    assert cannot_close(pruned(0.001, accumulation=4), steps) == said, "a batch is one step, in however many parts"
    assert cannot_close(RunConfig(gate_lr=0.001), steps) == "", "nothing to prune"


def test_gates_that_start_open_have_a_longer_way() -> None:
    steps = schedule(pos=100, ner=50)
    assert cannot_close(pruned(0.1), steps) == ""
    # logit(0.95) + 0.33 log(0.1 / 1.1) = 2.15
    assert "move log alpha by at most about 4.5, and closing takes 5.2" in cannot_close(
        pruned(0.1, gate_open=0.95), steps
    )
    assert cannot_close(pruned(0.05, gate_open=0.3), steps) == ""


def test_a_tasks_own_gates_move_in_its_own_steps() -> None:
    steps = schedule(pos=1000, ner=20)
    said = cannot_close(pruned(0.05, gates="per-task", tasks=("pos", "ner")), steps)
    assert said.startswith("no gate of NER can close: ")
    assert cannot_close(pruned(0.05, tasks=("pos", "ner")), steps) == ""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The demo corpus as `stemcell data demo` writes it."""
    folder = tmp_path_factory.mktemp("demo")
    write_demo(folder)
    return read_corpus(folder)


@pytest.mark.parametrize("name", shipped())
def test_shipped_sweeps_can_prune_the_demo_corpus(name: str, demo: Corpus) -> None:
    given = {"from_run": "runs/pos", "tasks": "pos"} if name == "static" else {}
    assert cannot_close_on(from_dict(read_sweep(find_sweep(name), given).base), demo) == ""


def test_a_sweep_is_judged_by_its_longest_run(demo: Corpus, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("space:\n  l0_penalty: {low: 0.1, high: 1}\n  epochs: {low: 1, high: 30}\nbase: {prune: dynamic}\n")
    sweep = read_sweep(file, {"tasks": "pos"})
    with pytest.raises(UserError, match="would prune nothing: no gate can close: 960 steps at --gate-lr"):
        _check_gates(sweep, resolve(sweep), demo)
    sweep = read_sweep(file, {"tasks": "pos", "gate_lr": 0.01})
    _check_gates(sweep, resolve(sweep), demo)


def test_the_shipped_pruning_study_can_prune_its_own_corpus(tmp_path: Path) -> None:
    study = read_study(find_study("pruning"))
    assert study.demo
    write_demo(tmp_path, study.demo)
    corpus = read_corpus(tmp_path)
    runs = [run for run in study.runs if run.config.prune != "no"]
    assert {run.name for run in runs if cannot_close_on(run.config, corpus)} == set()


def test_a_study_that_was_begun_may_go_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    study = read_study(find_study("pruning"))
    stuck = {run.name: "no gate can close" for run in study.runs if run.config.prune != "no"}
    monkeypatch.setattr(work, "call", lambda *_: stuck)
    with pytest.raises(UserError, match="pruned runs would prune"):
        work._check_gates(study, Path(), begun=False)
    work._check_gates(study, Path(), begun=True)
    assert capsys.readouterr().err.count("WARNING: ") == len(stuck) > 0
