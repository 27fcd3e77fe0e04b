from collections import Counter

import numpy as np
import pytest

from stemcell.training.sampling import Schedule

SIZES = {"pos": [5] * 640, "dep": [5] * 64, "srl": [5] * 30}


def schedule(seed=1, temperature=0.8, sizes=SIZES):
    return Schedule(sizes, seed=seed, temperature=temperature, sentences=8, tokens=400)


def test_an_epoch_has_as_many_steps_as_all_tasks_have_batches():
    plan = schedule()
    assert plan.batches == {"pos": 80, "dep": 8, "srl": 4}
    assert len(plan.epoch(0)) == plan.steps_per_epoch == 92


def test_tasks_are_drawn_by_batches_to_the_temperature():
    plan = schedule()
    weights = np.array([80, 8, 4]) ** 0.8
    assert list(plan.probabilities.values()) == pytest.approx(weights / weights.sum())
    drawn = Counter(step.task for epoch in range(200) for step in plan.epoch(epoch))
    for task, probability in plan.probabilities.items():
        assert drawn[task] / (200 * 92) == pytest.approx(probability, abs=0.01)


def test_order_depends_on_seed_and_epoch_alone():
    once, again = schedule(), schedule()
    forward = [once.epoch(i) for i in range(4)]
    backward = [again.epoch(i) for i in (3, 2, 1, 0)][::-1]
    assert forward == backward
    assert forward[0] != forward[1]
    assert forward[0] != schedule(seed=2).epoch(0)


def test_a_task_sees_all_its_sentences_before_any_twice_across_epochs():
    plan = schedule()
    seen = [i for epoch in range(30) for step in plan.epoch(epoch) if step.task == "dep" for i in step.batch]
    for start in range(0, len(seen) - 64, 64):
        assert sorted(seen[start : start + 64]) == list(range(64))


def test_effective_epochs_are_what_is_drawn():
    plan = schedule()
    drawn = Counter(step.task for epoch in range(7) for step in plan.epoch(epoch))
    assert plan.effective_epochs(7) == pytest.approx({task: drawn[task] / plan.batches[task] for task in SIZES})


def test_one_task_is_passed_over_once_an_epoch():
    plan = schedule(sizes={"pos": SIZES["pos"]})
    for epoch in range(3):
        assert sorted(i for step in plan.epoch(epoch) for i in step.batch) == list(range(640))
