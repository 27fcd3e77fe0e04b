"""Where a study is kept: a journal file, SQLite, PostgreSQL or MySQL, or Optuna's gRPC proxy of one of them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stemcell.errors import UserError
from stemcell.tracking.store import reason, shown

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

KINDS = "sqlite:///FILE, postgresql://…, mysql://…, grpc://HOST:PORT, or leave --storage out for a journal file"

DRIVERS = {"postgresql": "'psycopg[binary]'", "mysql": "pymysql", "grpc": "grpcio protobuf"}
# Schemes whose default driver in SQLAlchemy builds from source; the one used where that is not installed.
WHEELS = {"postgresql": ("psycopg2", "psycopg"), "mysql": ("MySQLdb", "pymysql")}
GRPC_PORT = 13000
PROXY_SECONDS = 10.0


def check_storage(url: str | None, workers: int) -> None:
    """Check what can be checked of an address alone.

    Raises:
        UserError: if it is none, or SQLite's with several workers.
    """
    if url is None:
        return
    scheme = _scheme(url)
    if "://" not in url or scheme not in ("sqlite", "postgresql", "mysql", "grpc"):
        raise UserError(f"--storage {shown(url)}: give {KINDS}")
    if scheme == "sqlite" and workers > 1:
        raise UserError(
            "--storage sqlite: works for one worker only; for several, leave --storage out or give a server's address"
        )


def open_storage(url: str | None, journal: Path) -> BaseStorage:
    """Open a storage, which is made if need be.

    Raises:
        UserError: if it cannot be reached, is locked, or lacks its driver.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    with storage_errors(url, ValueError, OSError, TypeError):
        if url is None:
            return _journal(journal)
        try:
            return _server(url)
        except ImportError as error:
            package = DRIVERS.get(_scheme(url), str(error))
            raise UserError(f"the storage {shown(url)} needs a package: pip install {package}") from error


@contextlib.contextmanager
def storage_errors(url: str | None, *more: type[Exception]) -> Iterator[None]:
    """Turn what a storage raises when it cannot be used into one UserError that names it."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    name = shown(url) if url else "in the sweep's folder"
    try:
        yield
    except UserError:
        raise
    except (StorageInternalError, SQLAlchemyError, *more) as error:  # type: ignore[misc]
        cause = error.__cause__ or error
        why = "it does not answer" if _is_grpc(cause) else reason(getattr(cause, "orig", None) or cause)
        raise UserError(f"the storage {name} cannot be used: {why}") from error
    except Exception as error:
        if _is_grpc(error):
            raise UserError(f"the storage {name} cannot be used: it does not answer") from error
        raise


def _is_grpc(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] == "grpc"


def _server(url: str) -> BaseStorage:
    if _scheme(url) == "grpc":
        from optuna.storages import GrpcStorageProxy

        host, _, port = url.removeprefix("grpc://").partition(":")
        proxy = GrpcStorageProxy(host=host, port=int(port or GRPC_PORT))
        proxy.wait_server_ready(timeout=PROXY_SECONDS)
        return proxy
    scheme, _, rest = url.partition("://")
    address = url
    if scheme in WHEELS:
        default, wheel = WHEELS[scheme]
        address = url if find_spec(default) else f"{scheme}+{wheel}://{rest}"
    options: dict[str, Any] = {"pool_pre_ping": True} if _scheme(url) != "sqlite" else {}
    return _database(address, options)


def _scheme(url: str) -> str:
    return url.partition("://")[0].partition("+")[0]


def _database(address: str, options: dict[str, Any]) -> BaseStorage:
    from optuna.storages import RDBStorage

    for attempt in range(4):
        try:
            return RDBStorage(address, engine_kwargs=options)
        except Exception:
            # Of several that make the tables at once, all but one fail, and find them there the next time.
            if attempt == 3:
                raise
    raise AssertionError


def _journal(path: Path) -> BaseStorage:
    from filelock import FileLock
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    from optuna.storages.journal._file import BaseJournalFileLock

    class KernelLock(BaseJournalFileLock):
        """Freed by the kernel when its holder dies; Optuna's own ones stay for half a minute."""

        def __init__(self) -> None:
            self._lock = FileLock(f"{path}.lock")

        def acquire(self) -> bool:
            self._lock.acquire()
            return True

        def release(self) -> None:
            self._lock.release()

    return JournalStorage(JournalFileBackend(str(path), lock_obj=KernelLock()))
