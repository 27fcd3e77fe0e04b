"""One trial in a process of its own: whatever becomes of it, the sweep goes on.

The process is forked from one that has imported torch already (``multiprocessing``'s fork server). Over its pipe it
hears when to stop and says how it ended; when the pipe breaks, the sweep is dead, and the trial saves itself and stops.
With ``--launch`` it starts the processes that train, which know nothing of the study.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from stemcell.errors import UserError
from stemcell.signals import stopping
from stemcell.tracking.folder import RunFolder, is_run

ABANDONED = "the sweep has ended without a word"


@dataclass(frozen=True)
class Job:
    """A run to be trained: ``place`` is its worker's number, ``launch`` what starts several processes, if any."""

    folder: str
    config: dict[str, Any]
    parent: str
    own_id: str
    log: str
    directory: str
    place: int
    threads: int
    launch: str = ""
    resume: bool = False


@dataclass(frozen=True)
class End:
    """How a trial ended: FINISHED, STOPPED (saved, as it was told to), FAILED; ``begun`` once training could start."""

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
    orders: list[str] = []
    threading.Thread(target=_listen, args=(pipe, orders), daemon=True).start()
    end = _before(Path(job.folder)) or _begin(job)
    if end.state == "STOPPED" and orders:
        end = End("STOPPED", orders[0])
        note(Path(job.folder), "KILLED", orders[0])
    with contextlib.suppress(OSError):
        pipe.send(asdict(end))


def train(job: Job) -> End:
    """Train the run, or go on with it; every failure is an answer."""
    from stemcell.config import from_dict
    from stemcell.training.loop import Stopped
    from stemcell.training.run import resume_run, start_run

    folder = Path(job.folder)
    try:
        if job.resume:
            resume_run(job.folder, {})
        else:
            start_run(from_dict({**job.config, "out": job.folder}), parent=job.parent, own_id=job.own_id)
    except Stopped as stopped:
        return End("STOPPED", f"signal {stopped.signal}")
    except KeyboardInterrupt:
        return End("STOPPED", "interrupted")
    except UserError as error:
        return End("FAILED", str(error), is_run(folder))
    except Exception as error:
        traceback.print_exc()
        what = next(iter(str(error).splitlines()), "")
        name = "out of memory" if _no_memory(error) else type(error).__name__
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


def _no_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__ or "allocate memory" in str(error)


def _listen(pipe: Connection, orders: list[str]) -> None:
    """Stop this process as a person would, once told to or once nobody is there to tell."""
    try:
        orders.append(pipe.recv())
    except (EOFError, OSError):
        orders.append(ABANDONED)
    os.kill(os.getpid(), signal.SIGTERM)


def _before(folder: Path) -> End | None:
    """How the trial has ended already, before its worker was killed and could say so."""
    # A process that its dead worker left behind saves itself first.
    while is_run(folder) and RunFolder(folder).status().status == "RUNNING":
        time.sleep(0.1)
    if not is_run(folder):
        # What has no run.json is the beginning of a run whose process was killed.
        shutil.rmtree(folder, ignore_errors=True)
        return None
    status = RunFolder(folder).status()
    if status.status == "FINISHED":
        return End("FINISHED")
    return End("FAILED", status.reason) if status.status == "FAILED" else None


def _begin(job: Job) -> End:
    job = Job(**{**asdict(job), "resume": is_run(Path(job.folder))})
    if job.launch:
        return _launched(job)
    import torch

    if job.threads:
        torch.set_num_threads(job.threads)
    _own_device(job.place)
    return train(job)


def _own_device(place: int) -> None:
    """Give each worker a GPU of its own, as far as there are so many."""
    import torch

    count = torch.cuda.device_count()
    if count > 1:
        devices = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        mine = place % count
        os.environ["CUDA_VISIBLE_DEVICES"] = devices[mine] if len(devices) == count else str(mine)


def _launched(job: Job) -> End:
    """Train with several processes, which a launcher starts; the first of them writes how it ended."""
    result = Path(f"{job.log}.end")
    result.unlink(missing_ok=True)
    command = [*shlex.split(job.launch), "-m", "stemcell.searching.trial", json.dumps(asdict(job)), str(result)]
    environment = {**os.environ, **({"OMP_NUM_THREADS": str(job.threads)} if job.threads else {})}
    if signal.SIGHUP not in stopping():
        # torchrun would have it stop the processes, even under nohup.
        environment.setdefault("TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT")
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        return End("FAILED", f"--launch: {command[0]} cannot be started ({error.strerror})", begun=False)
    for number in stopping():
        if number != signal.SIGINT:  # the fork server has that ignored
            signal.signal(number, lambda number, frame: process.send_signal(signal.SIGTERM))
    code = process.wait()
    if not result.exists():
        return End("FAILED", f"{command[0]} ended with code {code}; see {job.log}", is_run(Path(job.folder)))
    end = End(**json.loads(result.read_text("utf-8")))
    result.unlink()
    return end


def _main_of_several() -> None:
    """What a launcher starts, once a process."""
    from stemcell.files import write_json

    end, result = train(Job(**json.loads(sys.argv[1]))), Path(sys.argv[2])
    # One that fails has the launcher stop the others, which is not how the trial ended.
    if end.state == "FAILED" or (os.environ.get("RANK", "0") == "0" and not result.exists()):
        write_json(result, asdict(end))
    sys.exit(end.state == "FAILED")


if __name__ == "__main__":
    _main_of_several()
