"""Where MLflow keeps runs: ``MLFLOW_TRACKING_URI``, or else a SQLite file and an artifact folder in the run home."""

from __future__ import annotations

import logging
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from stemcell.errors import UserError
from stemcell.home import home
from stemcell.tracking.folder import RunFolder, is_run

if TYPE_CHECKING:
    from mlflow import MlflowClient

# MLflow's own defaults wait for minutes; the run folder makes it safe to give up and try again later.
_PATIENCE = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_ARTIFACT_UPLOAD_DOWNLOAD_TIMEOUT": "60",
}
# Nobody asked for usage statistics to be sent, nor for addresses between our own output.
_QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}


def tracking_uri() -> str:
    """The address of the store."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home().absolute() / 'mlflow.db'}"


def shown(uri: str) -> str:
    """An address, or a text with one, without user name and password."""
    return re.sub(r"//[^/\s]*@", "//", uri)


def database(uri: str) -> Path | None:
    """The file of a SQLite store."""
    if not uri.startswith("sqlite:///"):
        return None
    name = uri.removeprefix("sqlite:///").partition("?")[0]
    return Path(name).absolute() if name and name != ":memory:" else None


def artifact_root(uri: str) -> Path | None:
    """Where the artifacts of a SQLite store lie: beside it, since MLflow would put them into the working directory."""
    file = database(uri)
    return file.with_name("mlartifacts") if file else None


def quiet() -> None:
    """Set how MLflow behaves in this process, before it is imported, wherever the environment does not."""
    for name, value in (_PATIENCE | _QUIET).items():
        os.environ.setdefault(name, value)


def connect() -> MlflowClient:
    """A client of the store; a SQLite file is made, or brought up to date, by one process at a time.

    Raises:
        UserError: if a SQLite store cannot be written.
        Exception: whatever MLflow raises where a store cannot be used; see :func:`answers`.
    """
    quiet()
    from mlflow import MlflowClient

    logging.getLogger("mlflow").setLevel(logging.ERROR)
    logging.getLogger("alembic").setLevel(logging.ERROR)
    logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)
    uri = tracking_uri()
    # Making the client makes the store's tables.
    with _alone(file) if (file := database(uri)) else nullcontext():
        return MlflowClient(tracking_uri=uri, registry_uri=uri)


def experiment(client: MlflowClient, name: str) -> str:
    """The id of an experiment, which is made if need be."""
    from mlflow.exceptions import MlflowException

    if found := client.get_experiment_by_name(name):
        if found.lifecycle_stage == "deleted":
            raise UserError(f"MLflow's experiment '{name}' was deleted; restore it there or name another: --experiment")
        return str(found.experiment_id)
    root = artifact_root(tracking_uri())
    try:
        return str(client.create_experiment(name, artifact_location=root.as_uri() if root else None))
    except MlflowException as error:
        if error.error_code == "RESOURCE_ALREADY_EXISTS" and (found := client.get_experiment_by_name(name)):
            return str(found.experiment_id)
        raise


@contextmanager
def answers() -> Iterator[None]:
    """Turn MLflow's and the network's errors into one UserError that names the store.

    The network's are OSErrors; a database without its driver is an ImportError, an address that is none a ValueError.
    """
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, SQLAlchemyError, sqlite3.Error, OSError, ImportError, ValueError) as error:
        raise UserError(f"MLflow at {shown(tracking_uri())}: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """An error in one line."""
    text = shown(" ".join(str(error).split())) or type(error).__name__
    if re.search("HTTPS?ConnectionPool", text):
        return "it does not answer"
    return text if len(text) <= 300 else text[:299] + "…"


def folder_of(run_id: str) -> RunFolder:
    """The folder of a run by its id in MLflow.

    Raises:
        UserError: if the store does not answer, or has no such run, or its folder is not here.
    """
    with answers():
        tags = connect().get_run(run_id).data.tags
    path = tags.get("stemcell.folder")
    if path is None:
        raise UserError(f"MLflow's run {run_id} was not made by stemcell: it names no run folder")
    if not is_run(Path(path)):
        raise UserError(f"MLflow's run {run_id} lies in {path}, which is not here (another machine, moved or deleted)")
    folder = RunFolder(Path(path))
    if folder.id != tags.get("stemcell.id"):
        raise UserError(f"MLflow's run {run_id} lay in {path}, where a later run replaced it")
    return folder


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    from filelock import FileLock

    from stemcell.files import disk_errors

    with disk_errors(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(file.with_name(f".{file.name}.lock"))
        lock.acquire(timeout=120)
    try:
        # MLflow would try for minutes to open what cannot be opened.
        with closing(sqlite3.connect(file, timeout=60)) as opened:
            opened.execute("BEGIN IMMEDIATE")
        yield
    finally:
        lock.release()
