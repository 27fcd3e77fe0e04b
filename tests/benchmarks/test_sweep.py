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
    """The seconds of a sweep, one trial at a time, and those of its trials' training."""
    command = [sys.executable, "-m", "stemcell", "sweep", "--data", corpus, "--encoder", "tiny-deberta"]
    command += ["--out", folder, "--epochs", "2", "--batch-sentences", "8", "--trials", str(trials)]
    start = time.perf_counter()
    subprocess.run(list(map(str, command)), check=True, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    wall = time.perf_counter() - start
    columns, rows = RunFolder(folder).read_table("trials")
    assert [row[columns.index("state")] for row in rows] == ["COMPLETE"] * trials
    return wall, sum(row[columns.index("seconds")] for row in rows)


def test_overhead_a_trial(tmp_path):
    corpus = tmp_path / "corpus"
    write_demo(corpus, sizes=(60, 20, 20))
    # Stores and caches are made once for all sweeps.
    sweep(corpus, tmp_path / "first", 1)
    (few, few_training), (many, many_training) = (sweep(corpus, tmp_path / str(n), n) for n in (FEW, MANY))
    each = ((many - few) - (many_training - few_training)) / (MANY - FEW)
    once = few - few_training - FEW * each
    print(f"\noutside training: {once:.1f} s a sweep and {each:.2f} s a trial, of {many_training / MANY:.1f} s each")
