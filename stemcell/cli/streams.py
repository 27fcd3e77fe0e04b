"""Standard output and error whose reader may go away (``stemcell predict … | head -1``)."""

from __future__ import annotations

import io
import os
import sys

GONE = 141
"""What a shell shows of a program that ended by SIGPIPE."""


class _Pipe(io.FileIO):
    """A stream's file: what nobody reads any more ends the command quietly, or is not printed where work goes on."""

    working = False

    def write(self, data: bytes) -> int | None:  # type: ignore[override]
        try:
            return super().write(data)
        except OSError as error:
            # What is buffered still would make noise at the end.
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
            if not isinstance(error, BrokenPipeError):
                raise
            if not _Pipe.working:
                raise SystemExit(GONE) from None
            return len(data)


def prepare() -> None:
    """Make the standard streams UTF-8, as files are written, and quiet when their reader goes away."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever started us: nothing to read, and nobody listens
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    _Pipe.working = False
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, io.TextIOWrapper):
            continue
        if stream is getattr(sys, f"__{name}__"):
            stream.flush()
            raw = _Pipe(stream.fileno(), "w", closefd=False)
            buffer = raw if stream.write_through else io.BufferedWriter(raw)  # type: ignore[type-var]
            lines, through = stream.line_buffering, stream.write_through
            stream = io.TextIOWrapper(buffer, line_buffering=lines, write_through=through)  # type: ignore[type-var]
            setattr(sys, name, stream)
        # File names may hold what is not UTF-8.
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def keep_working() -> None:
    """From here on the command goes on without printing when nobody reads: its work is in its folder, not in print."""
    _Pipe.working = True
