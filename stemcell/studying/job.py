"""What a study does in processes of their own: preparing the corpus, a run from start to end, its copy in MLflow."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stemcell.config import RunConfig
from stemcell.studying import after
from stemcell.studying.claims import Claim
from stemcell.studying.grid import Run
from stemcell.tracking.folder import RunFolder, is_run

ELSEWHERE = "elsewhere"


@dataclass(frozen=True)
class Job:
    """A run to be made.

    Attributes:
        folder: of the study.
        name: of the run.
        config: its whole configuration; None for a pretrained encoder that is probed.
        encoder: its encoder.
        train_limit: of the runs that it is compared with.
        data: the corpus.
        after: the steps after training.
        parent: the study's id.
        slot: which of this machine's workers does it, from 0, and how many there are.
    """

    folder: Path
    name: str
    config: RunConfig | None
    encoder: str
    train_limit: int
    data: Path
    after: tuple[str, ...]
    parent: str
    slot: tuple[int, int] = (0, 1)


def corpus(
    folder: Path, demo: tuple[int, int, int] | None, tasks: Sequence[str], pos_column: str, skip_broken: bool
) -> str:
    """The fingerprint of a corpus, a demo corpus being made if it is not there.

    Raises:
        UserError: if it cannot be read, or has no data for one of the tasks.
    """
    from filelock import FileLock

    from stemcell.corpora.demo import write_demo
    from stemcell.corpora.store import read_corpus

    if demo and not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(f".{folder.name}.lock")):
            if not folder.exists():
                write_demo(folder, demo)
    return read_corpus(folder, layers=tasks, pos_column=pos_column, skip_broken=skip_broken).fingerprint


def cannot_prune(folder: Path, runs: Sequence[Run]) -> dict[str, str]:
    """Runs whose gates cannot close, by name, and why."""
    from stemcell.corpora.store import read_corpus
    from stemcell.training.reach import cannot_close_on

    first = runs[0].config
    tasks = tuple(dict.fromkeys(task for run in runs for task in run.config.tasks))
    corpus = read_corpus(folder, layers=tasks, pos_column=first.pos_column, skip_broken=first.skip_broken)
    problems = {run.name: cannot_close_on(run.config, corpus) for run in runs}
    return {name: problem for name, problem in problems.items() if problem}


def announce(folder: Path) -> None:
    """Send the study's own record to MLflow as it stands.

    Raises:
        UserError: if MLflow does not answer.
    """
    from stemcell.tracking import store
    from stemcell.tracking.replica import Replica

    run = RunFolder(folder)
    with store.answers():
        replica = Replica(run)
        replica.push()
        replica.set_status(run.status())


def perform(job: Job) -> str:
    """Make a run, or go on with it, and take the steps after; returns ``elsewhere`` if another worker is at it.

    Raises:
        UserError: if it fails; the reason is noted with the claim.
        stemcell.training.loop.Stopped, KeyboardInterrupt: if it was stopped; it can be gone on with.
    """
    with Claim(job.folder, job.name) as claim:
        if not claim.held:
            return ELSEWHERE
        _place(*job.slot)
        step = "train"
        try:
            if job.config is None:
                step = "probe"
                _probe(job)
            else:
                run = job.folder / job.name
                _train(job, run)
                for step in after.pending(job.after, run, job.config):
                    after.do(step, run, job.config, job.data)
        except Exception as error:
            if type(error).__name__ != "Stopped":
                claim.failed(step, " ".join(str(error).split()) or type(error).__name__)
            raise
        claim.clear()
    return ""


def _train(job: Job, run: Path) -> None:
    from stemcell.training.run import resume_run, start_run

    assert job.config is not None
    if is_run(run):
        if RunFolder(run).status().status != "FINISHED":
            resume_run(str(run), {})
        return
    if run.is_dir() and {entry.name for entry in run.iterdir() if not entry.name.startswith(".")} == {"status.json"}:
        # The beginning of a run whose process was killed.
        (run / "status.json").unlink()
    start_run(job.config, parent=job.parent)


def _probe(job: Job) -> None:
    from stemcell.probing.record import probe_encoder

    out = job.folder / job.name
    if is_run(out):
        if RunFolder(out).status().status == "FINISHED":
            return
        if RunFolder(out).tags.get("kind") == "probe":
            shutil.rmtree(out)
    study = RunFolder(job.folder)
    probe_encoder(job.encoder, job.data, out, split="test", train_limit=job.train_limit, study=study)


def _place(slot: int, workers: int) -> None:
    """Share processors and GPUs among this machine's workers."""
    import torch

    if workers > 1 and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // workers))
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    devices = seen.split(",") if seen else [str(number) for number in range(torch.cuda.device_count())]
    if len(devices) > 1:
        os.environ["CUDA_VISIBLE_DEVICES"] = devices[slot % len(devices)]
