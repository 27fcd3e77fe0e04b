"""Functions run in processes of their own, forked from one that has imported torch already, which spares them seconds.

Whatever becomes of one, the study goes on. Over its pipe it hears when to stop and says how it ended; when the pipe
breaks, whoever started it is dead, and it stops as if it had been told to.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

from stemcell.errors import UserError
from stemcell.signals import stopping

WARM = ["__main__", "stemcell.searching.warm", "stemcell.cli.main", "stemcell.studying.job"]


@dataclass(frozen=True)
class End:
    """How a process ended: DONE with a value, FAILED for a reason, or STOPPED."""

    state: str
    value: Any = None
    reason: str = ""


class Child:
    """A function at work in another process; it must be importable, and its arguments and value picklable."""

    def __init__(self, function: Callable[..., Any], *arguments: Any, log: Path | None = None) -> None:
        """Start it; what it prints is added to the log."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(WARM)
        self._pipe, other = context.Pipe()
        given = (function, arguments, dict(os.environ), os.getcwd(), str(log or os.devnull), other)
        self._process = context.Process(target=_run, args=given)
        self._process.start()
        other.close()

    @property
    def pipe(self) -> Connection:
        """Ready when the process ends."""
        return self._pipe

    def ended(self) -> bool:
        """Whether :meth:`end` will not wait."""
        return self._pipe.poll()

    def end(self) -> End:
        """Wait for the end."""
        try:
            end = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            end = End("FAILED", reason=_cause(self._process.exitcode))
        self._process.join()
        return end

    def stop(self, at_once: bool = False) -> None:
        """Ask it to save what it has and stop, or to stop at once."""
        if self._process.pid:
            with contextlib.suppress(ProcessLookupError):
                # On a terminal, Ctrl-C has reached it already; training takes a second SIGINT for impatience.
                os.kill(self._process.pid, signal.SIGINT if at_once else signal.SIGTERM)


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """The value of a function run in a process of its own.

    Raises:
        UserError: what it raised, or if it died.
        KeyboardInterrupt: if it was stopped.
    """
    end = Child(function, *arguments).end()
    if end.state == "STOPPED":
        raise KeyboardInterrupt
    if end.state == "FAILED":
        raise UserError(end.reason)
    return end.value


def _run(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    environment: dict[str, str],
    folder: str,
    log: str,
    pipe: Connection,
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    for number in stopping():
        signal.signal(number, _interrupt)
    threading.Thread(target=_watch, args=(pipe,), daemon=True).start()
    end = _end(function, arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    with contextlib.suppress(OSError):
        pipe.send(end)


def _end(function: Callable[..., Any], arguments: tuple[Any, ...]) -> End:
    try:
        return End("DONE", function(*arguments))
    except UserError as error:
        return End("FAILED", reason=str(error))
    except KeyboardInterrupt:
        return End("STOPPED")
    except Exception as error:
        if type(error).__name__ == "Stopped":
            return End("STOPPED")
        traceback.print_exc()
        what = " ".join(str(error).split())[:300]
        memory = isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__
        return End("FAILED", reason=f"{'out of memory' if memory else type(error).__name__}: {what}".rstrip(": "))


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Once is enough: what comes after must not break what is tidied up."""
    for again in stopping():
        signal.signal(again, signal.SIG_IGN)
    raise KeyboardInterrupt


def _watch(pipe: Connection) -> None:
    """Stop this process as a person would, once nobody is there any more who started it."""
    with contextlib.suppress(EOFError, OSError):
        pipe.recv()
    os.kill(os.getpid(), signal.SIGTERM)


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        return f"its process was killed ({name}{', perhaps for want of memory' if name == 'SIGKILL' else ''})"
    return f"its process ended with code {code}"
