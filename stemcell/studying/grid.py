"""A study: runs of models x encoders x seeds and what comes after each. It is written as YAML, see :mod:`.reading`::

models:                       # in the order in which each seed's runs are made
  - tasks: [stl, mtl5]        # stl (the five single tasks), pairs (all ten), mtl5, one task, or some: pos-dep
    modes: [plain, dp]        # plain, sp (static), dp (dynamic), dp-per-task; plain if left out
encoders: [minilm]
seeds: [1, 2]
data: ewt                     # or demo: [train, dev, test], the sizes of a demo corpus that is made
train: {epochs: 3}            # fields of stemcell train, for all runs
modes:
  dp: {l0_penalty: {pos: 0.005, mtl5: 0.01}}   # over those; a value may depend on the tasks
after: [evaluate, probe]      # and export, for pruned runs
pretrained: true              # probe the encoders as they are, too
experiment: stemcell          # MLflow's
sizes:
  small: {seeds: [1]}         # any of the keys above, over them
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from stemcell import home
from stemcell.config import RunConfig
from stemcell.corpora.layers import LAYERS

MTL5 = "mtl5"
TASKS: dict[str, list[tuple[str, ...]]] = {
    "stl": [(task,) for task in LAYERS],
    "pairs": list(combinations(LAYERS, 2)),
    MTL5: [LAYERS],
}
"""Names of several models at once, and the tasks of each."""
MODES: dict[str, dict[str, str]] = {
    "plain": {"prune": "no"},
    "sp": {"prune": "static"},
    "dp": {"prune": "dynamic"},
    "dp-per-task": {"prune": "dynamic", "gates": "per-task"},
}
"""Ways of training: no gates, the paper's static and dynamic pruning, and gates a task."""
AFTER = ("evaluate", "export", "probe")


@dataclass(frozen=True)
class Run:
    """One run of a study.

    Attributes:
        name: of its folder in the study's.
        config: all but ``data``, ``out`` and ``from_run``, which depend on where the study is made.
        start: the run of the study that it starts from; empty for most.
    """

    name: str
    config: RunConfig
    start: str = ""


@dataclass(frozen=True)
class Study:
    """A grid of runs, in the order in which they are to be made.

    Attributes:
        name: of its folder; the size is part of it.
        size: which of the file's sizes; empty if it has none.
        data: the corpus folder; empty if it is a demo corpus, of ``demo`` sentences.
        after: what to do with a run that has been trained.
        pretrained: encoders to be probed as they are, first.
        settings: what makes two studies of one name the same, as plain values.
    """

    name: str
    size: str
    data: str
    demo: tuple[int, int, int] | None
    runs: tuple[Run, ...]
    after: tuple[str, ...]
    pretrained: tuple[str, ...]
    encoders: tuple[str, ...]
    seeds: tuple[int, ...]
    settings: dict[str, Any]


def shipped() -> dict[str, Path]:
    """The studies that come with stemcell, by name."""
    return home.shipped("studies")


def find_study(name: str) -> Path:
    """The file of a shipped study, or the file itself.

    Raises:
        UserError: if there is none.
    """
    return home.find_shipped("study", name, shipped())
