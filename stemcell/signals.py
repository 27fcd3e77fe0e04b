"""The signals that ask a command to stop."""

from __future__ import annotations

import signal
import sys
from types import FrameType


def stopping() -> tuple[signal.Signals, ...]:
    """SIGINT (Ctrl-C), SIGTERM, and SIGHUP (the terminal is gone) unless it is ignored, as ``nohup`` has it."""
    heard = signal.getsignal(signal.SIGHUP) != signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM, *((signal.SIGHUP,) if heard else ()))


def exit_on_stop() -> None:
    """Have SIGTERM and SIGHUP end this process as Ctrl-C does: what is half-written is removed, what runs is KILLED."""
    for number in stopping():
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _exit)


def _exit(number: int, frame: FrameType | None) -> None:
    # Once is enough: what comes after must not break what is tidied up.
    for again in stopping():
        if again != signal.SIGINT:
            signal.signal(again, signal.SIG_IGN)
    sys.exit(128 + number)
