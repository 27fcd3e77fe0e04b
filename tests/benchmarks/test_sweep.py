"""What a sweep costs outside training: once, and a trial more; never a timed test.

Run with ``pytest -m benchmark tests/benchmarks/test_sweep.py -s`` on a quiet machine.
"""

import os
import subprocess
import sys
import time

import pytest

from stemcell.corpora.demo import write_demo
from stemcell.tracking.folder import RunFolder

pytestmark = [pytest.mark.benchmark]
FEW, MANY = 1, 5


def sweep(corpus, folder, trials):
    """The seconds of a sweep, one trial at a time, those of its trials' training, and how the trials ended."""
    command = [sys.executable, "-m", "stemcell", "sweep", "--data", corpus, "--encoder", "tiny-deberta"]
    command += ["--out", folder, "--epochs", "2", "--batch-sentences", "8", "--trials", str(trials)]
    start = time.perf_counter()
    subprocess.run(list(map(str, command)), check=True, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    wall = time.perf_counter() - start
    columns, rows = RunFolder(folder).read_table("trials")
    seconds, state = columns.index("seconds"), columns.index("state")
    return wall, sum(row[seconds] for row in rows), [row[state] for row in rows]


def test_overhead_a_trial(tmp_path):
    corpus = tmp_path / "corpus"
    write_demo(corpus, sizes=(60, 20, 20))
    # Stores and caches are made once for all sweeps.
    sweep(corpus, tmp_path / "first", 1)
    few, many = (sweep(corpus, tmp_path / str(trials), trials) for trials in (FEW, MANY))
    # Nothing was left out, and training, one trial after another, is a part of the whole: what is left is the sweep's.
    assert (few[2], many[2]) == (["COMPLETE"] * FEW, ["COMPLETE"] * MANY)
    assert 0 < few[1] < few[0]
    assert few[1] < many[1] < many[0]
    each = ((many[0] - few[0]) - (many[1] - few[1])) / (MANY - FEW)
    once = few[0] - few[1] - FEW * each
    print(f"\noutside training: {once:.1f} s a sweep and {each:.2f} s a trial, of {many[1] / MANY:.1f} s each")
