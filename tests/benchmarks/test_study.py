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
    """The seconds of a study, one run at a time, and those of its runs' training."""
    command = [
        "-m",
        "stemcell",
        "study",
        file,
        "--data",
        corpus,
        "--out",
        out,
        "--seeds",
        *[",".join(map(str, range(runs)))],
    ]
    start = time.perf_counter()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, *map(str, command)], check=True, capture_output=True, env=environment)
    wall = time.perf_counter() - start
    training = 0.0
    for history in out.glob("grid/*/metrics.jsonl"):
        times = [json.loads(line)["time"] for line in history.read_text("utf-8").splitlines()]
        training += times[-1] - times[0]
    # Nothing was left out: every run was trained and scored.
    assert len(list(out.glob("grid/*/artifacts/sentences/test.npz"))) == runs
    return wall, training


def test_overhead_a_run(tmp_path):
    corpus, file = tmp_path / "corpus", tmp_path / "grid.yaml"
    write_demo(corpus, sizes=(200, 40, 40))
    file.write_text(GRID)
    # Stores and caches are made once for all studies.
    study(corpus, file, tmp_path / "first", 1)
    (few, few_training), (many, many_training) = (study(corpus, file, tmp_path / str(n), n) for n in (FEW, MANY))
    each = ((many - few) - (many_training - few_training)) / (MANY - FEW)
    once = few - few_training - FEW * each
    print(f"\noutside training: {once:.1f} s a study, {each:.2f} s a run, scores on test included")
