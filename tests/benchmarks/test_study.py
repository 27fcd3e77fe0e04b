"""What a study costs outside training: once, and a run more; never a timed test.

Run with ``pytest -m benchmark tests/benchmarks/test_study.py -s`` on a quiet machine.
"""

import json
import os
import subprocess
import sys
import time

import pytest

from stemcell.corpora.demo import write_demo

pytestmark = [pytest.mark.benchmark]
FEW, MANY = 2, 8
GRID = (
    "models:\n  - tasks: [pos]\nencoders: [tiny-deberta]\ntrain: {epochs: 3, batch_sentences: 8}\nafter: [evaluate]\n"
)


def study(corpus, file, out, runs):
    """The seconds of a study, one run at a time, those of its runs' training, and how many were trained and scored."""
    seeds = ",".join(map(str, range(runs)))
    command = [sys.executable, "-m", "stemcell", "study", file, "--data", corpus, "--out", out, "--seeds", seeds]
    start = time.perf_counter()
    subprocess.run(list(map(str, command)), check=True, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    wall = time.perf_counter() - start
    training = 0.0
    for history in out.glob("grid/*/metrics.jsonl"):
        times = [json.loads(line)["time"] for line in history.read_text("utf-8").splitlines()]
        training += times[-1] - times[0]
    return wall, training, len(list(out.glob("grid/*/artifacts/sentences/test.npz")))


def test_overhead_a_run(tmp_path):
    corpus, file = tmp_path / "corpus", tmp_path / "grid.yaml"
    write_demo(corpus, sizes=(200, 40, 40))
    file.write_text(GRID)
    # Stores and caches are made once for all studies.
    study(corpus, file, tmp_path / "first", 1)
    few, many = (study(corpus, file, tmp_path / str(runs), runs) for runs in (FEW, MANY))
    # Nothing was left out, and training, one run after another, is a part of the whole: what is left is the study's.
    assert (few[2], many[2]) == (FEW, MANY)
    assert 0 < few[1] < few[0]
    assert few[1] < many[1] < many[0]
    each = ((many[0] - few[0]) - (many[1] - few[1])) / (MANY - FEW)
    once = few[0] - few[1] - FEW * each
    print(f"\noutside training: {once:.1f} s a study, {each:.2f} s a run, scores on test included")
