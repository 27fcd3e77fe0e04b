"""Files that are written whole or not at all, and read with an error that names the place."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stemcell.errors import UserError

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


def write_atomic(path: Path, content: bytes | str) -> None:
    """Write a file so that a reader, or a crash, sees the old content or the new and nothing between.

    Parent folders are made. Text is written as UTF-8.

    Raises:
        UserError: if the disk is full or the place may not be written; the old content stays.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with disk_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as handle:
                handle.write(data)
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


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
