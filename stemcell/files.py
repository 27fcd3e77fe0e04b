"""Files that are written whole or not at all, and read with an error that names the place."""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import itertools
import json
import os
import platform
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stemcell.errors import UserError

OLD = 7 * 24 * 3600.0
"""Seconds after which what a writer on another machine has left half-written is taken for abandoned."""

_SERIAL = itertools.count()
_WHOLE = "copy the folder that it is in again, whole"
_AGAIN = "copy it again from the original, or train again"
_SEAL = "sha256"


@contextlib.contextmanager
def intact(path: Path) -> Iterator[None]:
    """Turn what is raised on values that are not as they were written into a UserError that names their file."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        what = next(iter(str(error).splitlines()), "")
        raise UserError(f"{path}: damaged ({type(error).__name__}: {what}); {_WHOLE}") from error


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn the failures of a disk that a user can mend (full, over quota, read-only, forbidden) into a UserError."""
    try:
        yield
    except Exception as error:
        number = getattr(error, "errno", None)
        # What is written in Rust, such as tokenizers, says so in words alone.
        if number in (errno.ENOSPC, errno.EDQUOT) or "(os error 28)" in str(error):
            raise UserError(f"{path}: the disk is full; make room and try again, nothing before is lost") from error
        if number in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise UserError(f"{path}: cannot be written ({os.strerror(number)}); choose another folder") from error
        raise


@dataclass(frozen=True)
class Staged:
    """Something half-written, and who writes it; all of that is in its name.

    Attributes:
        path: where it is.
        target: what it was to become.
        host, pid, start: the writer's machine, process, and when that process began (so that another process with the
            same number is not taken for it).
    """

    path: Path
    target: Path
    host: str
    pid: int
    start: str

    @classmethod
    def of(cls, path: Path) -> Staged | None:
        """What a path's name says; None if it is the name of something else."""
        parts = re.fullmatch(r"\.(.+)\.([\w-]+)\.(\d+)-\d+\.(\d+)\.staged", path.name)
        return cls(path, path.with_name(parts[1]), parts[2], int(parts[3]), parts[4]) if parts else None

    @property
    def here(self) -> bool:
        """Whether its writer runs, or ran, on this machine."""
        return self.host == _host()

    def dead(self) -> bool:
        """Whether its writer is known to be gone; of another machine's writers only age tells."""
        if self.here:
            return _start_of(self.pid) != self.start
        try:
            return time.time() - self.path.lstat().st_mtime > OLD
        except OSError:
            return False

    def remove(self) -> None:
        """Remove it, as far as that is allowed."""
        if self.path.is_dir() and not self.path.is_symlink():
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                self.path.unlink()


@contextlib.contextmanager
def staging(target: Path) -> Iterator[Path]:
    """A path beside ``target``, on the same disk, for what is to take its place or to make room for it.

    Nothing is there yet but the folder that it is in. Whatever is there at the end is removed. What writers of the same
    target have left behind, killed before they could remove it, is removed first; what a living one is at stays.

    Raises:
        UserError: if the folder that it is in cannot be made or written.
    """
    target = target.absolute()
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        for left in leftovers(target.parent):
            if left.target.name == target.name and left.dead():
                left.remove()
        pid = os.getpid()
        path = target.with_name(f".{target.name}.{_host()}.{pid}-{next(_SERIAL)}.{_own_start(pid)}.staged")
        try:
            yield path
        finally:
            Staged(path, target, "", 0, "").remove()


@contextlib.contextmanager
def staged_folder(target: Path, replace: bool = False) -> Iterator[Path]:
    """A new folder to fill, which becomes ``target`` once it is filled without an error and is removed otherwise.

    Args:
        replace: take the place of a folder that is there.

    Raises:
        UserError: if ``target`` is there and not an empty folder, and not to be replaced, or if the disk is full or the
            place may not be written.
    """
    with staging(target) as folder:
        folder.mkdir()
        yield folder
        for path in folder.rglob("*"):
            if path.is_file():
                with path.open("rb") as handle:
                    os.fsync(handle.fileno())
        if replace and target.exists():
            with staging(target) as aside:
                target.rename(aside)
                folder.rename(target)
            return
        try:
            folder.rename(target)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                raise UserError(f"{target}: already there, so it stays; name another folder") from None
            raise


def leftovers(folder: Path, depth: int | None = 0) -> Iterator[Staged]:
    """All that is staged in a folder, and in its subfolders down to a depth (None: all), whoever writes it."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if staged := Staged.of(Path(entry.path)):
            yield staged
        elif depth != 0 and entry.is_dir(follow_symlinks=False):
            yield from leftovers(Path(entry.path), depth and depth - 1)


@functools.cache
def _host() -> str:
    return re.sub(r"[^\w-]", "-", platform.node(), flags=re.ASCII)[:40] or "unknown"


@functools.cache
def _own_start(pid: int) -> str:
    return _start_of(pid) or "0"


def _start_of(pid: int) -> str | None:
    """When a process of this machine began; None if it has ended."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            # In clock ticks since the machine started; changes of the clock do not touch it.
            fields = stat.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] in "ZX" else fields[19]
    import psutil  # spared where /proc tells

    try:
        return str(int(psutil.Process(pid).create_time()))
    except psutil.NoSuchProcess:
        return None


def write_atomic(path: Path, content: bytes | str) -> None:
    """Write a file so that a reader, or a crash, sees the old content or the new and nothing between.

    Parent folders are made. Text is written as UTF-8.

    Raises:
        UserError: if the disk is full or the place may not be written; the old content stays.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    with staging(path) as temporary:
        with temporary.open("wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, path)


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, indented, atomically; not-finite numbers become the strings "nan", "inf" and "-inf".

    Raises:
        UserError: as :func:`write_atomic`.
    """
    write_atomic(path, json.dumps(finite_json(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        UserError: if it is missing or damaged; names file and line.
    """
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: missing; {_WHOLE}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: damaged, not UTF-8 at byte {error.start}; {_WHOLE}") from None
    except json.JSONDecodeError as error:
        raise UserError(f"{path}:{error.lineno}: damaged, not JSON ({error.msg}); {_WHOLE}") from None
    except RecursionError:
        raise UserError(f"{path}: damaged, brackets within brackets without end; {_WHOLE}") from None


def sha256(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def check_files(folder: Path, files: Mapping[str, str], record: Path) -> None:
    """Check that files are as they were written.

    Args:
        files: SHA-256 by path in the folder.
        record: the file that says so, to be named.

    Raises:
        UserError: if one is missing or has another content; names it.
    """
    for name, digest in files.items():
        path = folder / name
        if not path.is_file():
            raise UserError(f"{path}: missing; {_WHOLE}")
        if sha256(path) != digest:
            what = f"its SHA-256 is not {digest[:12]}… as {record.name} says"
            raise UserError(f"{path}: {what}: changed by hand, or damaged; {_AGAIN}")


def write_sealed(path: Path, record: Mapping[str, Any]) -> None:
    """As :func:`write_json`, with the SHA-256 of the rest as ``sha256``.

    Raises:
        UserError: as :func:`write_atomic`.
    """
    rest = {key: value for key, value in record.items() if key != _SEAL}
    write_json(path, {**rest, _SEAL: _seal(rest)})


def check_seal(path: Path, record: Mapping[str, Any]) -> None:
    """Check that what was read is what :func:`write_sealed` wrote; a file of an earlier version has no ``sha256``.

    Raises:
        UserError: if it is not; names the file.
    """
    rest = {key: value for key, value in record.items() if key != _SEAL}
    if record.get(_SEAL, digest := _seal(rest)) != digest:
        raise UserError(f"{path}: its content does not have the SHA-256 that it gives: changed by hand; {_AGAIN}")


def _seal(rest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(finite_json(rest)).encode()).hexdigest()


def finite_json(value: Any) -> Any:
    """The value with every not-finite number in it as a string: JSON has no such numbers, and 0 would be a lie."""
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, dict):
        return {key: finite_json(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite_json(part) for part in value]
    return value
