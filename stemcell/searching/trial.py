"""One trial in a process of its own: whatever becomes of it, the sweep goes on.

The process is forked from one that has imported torch already (``multiprocessing``'s fork server). With several
processes a trial, it starts them with torchrun. Over its pipe it hears when to stop and says how it ended; when the pipe
breaks, the sweep is dead, and the trial saves itself and stops.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import traceback
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from stemcell.errors import UserError
from stemcell.tracking.folder import RunFolder, is_run

ABANDONED = "the sweep has ended without a word"


@dataclass(frozen=True)
class Job:
    """A run to be trained, and where: ``devices`` are GPUs, as CUDA_VISIBLE_DEVICES names them."""

    folder: str
    config: dict[str, Any]
    parent: str
    log: str
    directory: str
    processes: int
    threads: int
    devices: str | None


@dataclass(frozen=True)
class End:
    """How a trial ended: FINISHED, STOPPED (saved, as it was told to) or FAILED; ``begun`` once training could start."""

    state: str
    reason: str = ""
    begun: bool = True


def main(job: Job, environment: dict[str, str], pipe: Connection) -> None:
    """Train, in a process made for it, and say over the pipe how it ended."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(job.directory)
    log = os.open(job.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if job.devices is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = job.devices
    orders: list[str] = []
    threading.Thread(target=_listen, args=(pipe, orders), daemon=True).start()
    end = _launched(job) if job.processes else train(job)
    if end.state == "STOPPED" and orders:
        end = End("STOPPED", orders[0])
        note(Path(job.folder), "KILLED", orders[0])
    with contextlib.suppress(OSError):
        pipe.send(asdict(end))


def train(job: Job) -> End:
    """Train the run, or go on with it where it was killed; every failure is an answer."""
    from stemcell.config import from_dict
    from stemcell.training.loop import Stopped
    from stemcell.training.run import resume_run, start_run

    if job.threads:
        import torch

        torch.set_num_threads(job.threads)
    folder = Path(job.folder)
    try:
        if is_run(folder):
            status = RunFolder(folder).status()
            if status.status == "FINISHED":
                return End("FINISHED")
            if status.status == "FAILED":
                return End("FAILED", status.reason)
            resume_run(job.folder, {})
        else:
            if folder.exists() and not job.processes:
                # What has no run.json is the beginning of a run whose process was killed.
                shutil.rmtree(folder)
            start_run(from_dict({**job.config, "out": job.folder}), parent=job.parent)
    except Stopped as stopped:
        return End("STOPPED", f"signal {stopped.signal}")
    except UserError as error:
        return End("FAILED", str(error), is_run(folder))
    except KeyboardInterrupt:
        return End("STOPPED", "interrupted")
    except Exception as error:
        traceback.print_exc()
        what = next(iter(str(error).splitlines()), "")
        name = "out of memory" if "OutOfMemory" in type(error).__name__ else type(error).__name__
        return End("FAILED", f"{name}: {what}", is_run(folder))
    return End("FINISHED")


def note(path: Path, status: str, reason: str) -> None:
    """Say on disk and in MLflow how a run ended, where it could not know itself."""
    from stemcell.tracking.sync import send

    if is_run(path):
        folder = RunFolder(path)
        folder.hold()
        folder.set_status(status, reason)
        folder.release()
        send(folder)


def _listen(pipe: Connection, orders: list[str]) -> None:
    """Stop this process as a person would, once told to or once nobody is there to tell."""
    try:
        orders.append(pipe.recv())
    except (EOFError, OSError):
        orders.append(ABANDONED)
    os.kill(os.getpid(), signal.SIGTERM)


def _launched(job: Job) -> End:
    """Train with several processes, which torchrun starts."""
    environment = {**os.environ, **({"OMP_NUM_THREADS": str(job.threads)} if job.threads else {})}
    launcher = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(job.processes), "-m"]
    command = [sys.executable, "-m", *launcher, "stemcell.searching.trial", json.dumps(asdict(job))]
    result = Path(f"{job.log}.end")
    result.unlink(missing_ok=True)
    folder = Path(job.folder)
    if folder.exists() and not is_run(folder):
        shutil.rmtree(folder)
    process = subprocess.Popen(command, env=environment)
    signal.signal(signal.SIGTERM, lambda number, frame: process.send_signal(signal.SIGTERM))
    code = process.wait()
    if not result.exists():
        return End("FAILED", f"torchrun ended with code {code}; see {job.log}", is_run(folder))
    end = End(**json.loads(result.read_text("utf-8")))
    result.unlink()
    return end


if __name__ == "__main__":
    given = Job(**json.loads(sys.argv[1]))
    ended = train(given)
    if os.environ.get("RANK", "0") == "0":
        from stemcell.files import write_json

        write_json(Path(f"{given.log}.end"), asdict(ended))
