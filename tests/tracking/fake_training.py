"""A training loop without a model, as far as tracking sees one; a program, so that tests can kill it.

``python fake_training.py FOLDER EPOCHS [--die-in EPOCH] [--pause SECONDS]``: goes on if the folder holds a run.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import signal
import time
from pathlib import Path
from typing import ClassVar

from stemcell.config import RunConfig, to_dict
from stemcell.tracking.folder import RunFolder, is_run
from stemcell.tracking.tracker import Tracker

STEPS = 5
LABELS = ["WP$", "``", ",", "."]


class Corpus:
    folder = Path("corpus")
    fingerprint = "0123456789abcdef" * 4

    datasets: ClassVar = {split: {"pos": [0] * 7, "ner": []} for split in ("train", "dev", "test")}


def train(path: Path, epochs: int, die_in: int = 0, pause: float = 0.0) -> None:
    config = dataclasses.replace(RunConfig(), epochs=epochs, tasks=("pos",))
    if is_run(path):
        run = RunFolder(path)
    else:
        run = RunFolder.create(path, to_dict(config), {"encoder": "none", "tasks": "pos"})
    checkpoint = path / "checkpoint.json"
    with Tracker(path, run, config, Corpus()) as tracker:
        done, position = json.loads(checkpoint.read_text()) if checkpoint.exists() else (0, 0)
        tracker.rewind(position)
        tracker.begin({} if done else {"passes/pos": 1.0})
        for epoch in range(done + 1, epochs + 1):
            for step in range((epoch - 1) * STEPS + 1, epoch * STEPS + 1):
                if epoch == die_in and step % STEPS == 3:
                    time.sleep(pause)
                    os.kill(os.getpid(), signal.SIGKILL)
                loss = float("nan") if step == 2 else 1 / step
                tracker.metrics(step, {"loss/pos": loss, "lr/encoder": 0.1 * step, "f1/WP$": 0.5})
                time.sleep(pause / STEPS)
            tracker.metrics(epoch * STEPS, {"dev/average": epoch / 10})
            rows = [[epoch, "dev", "pos", label, epoch / 10] for label in LABELS]
            tracker.table(f"scores/dev-epoch-{epoch:03d}", ["epoch", "split", "task", "label", "f1"], rows)
            checkpoint.write_text(json.dumps([epoch, tracker.position()]))
        tracker.end("FINISHED")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("epochs", type=int)
    parser.add_argument("--die-in", type=int, default=0)
    parser.add_argument("--pause", type=float, default=0.0)
    arguments = parser.parse_args()
    train(arguments.folder, arguments.epochs, arguments.die_in, arguments.pause)
