"""The files of a run's copy in MLflow: tables, films and everything else, under the paths that they have on disk.

A path's content is replaced whole. So tables are not sent through ``log_table``, which appends to one that is there and
would double a resumed run's rows, but in the form that it writes and with the tag that it sets.
"""

from __future__ import annotations

import json
import re
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stemcell.errors import UserError
from stemcell.files import read_json, sha256, write_json
from stemcell.tracking import names
from stemcell.tracking.folder import RunFolder

if TYPE_CHECKING:
    from mlflow import MlflowClient

# A picture's smaller side-by-side copy, which the UI shows in its grid.
_SMALL = 256
_PICTURE = re.compile(r"artifacts/(?P<film>.+)/step-(?P<step>\d+)\.png")


class Uploads:
    """Sends a run's files that MLflow does not have as they are; ``mlflow.json`` keeps what it has."""

    def __init__(self, client: MlflowClient, folder: RunFolder, server: str, run_id: str) -> None:
        self._client, self._folder, self._server, self._run_id = client, folder, server, run_id
        self._seen: dict[str, tuple[int, int]] = {}
        self._hashes: dict[str, str] = known(folder, server).get("files", {})
        self._tables: list[str] = []

    def check(self) -> None:
        """Forget what the record says MLflow has but MLflow has not."""
        if self._hashes:
            there = set(self._listing(None))
            self._hashes = {name: value for name, value in self._hashes.items() if names.file(name) in there}

    def push(self) -> int:
        """Send new and changed files; returns how many."""
        sent = 0
        paths = {path.relative_to(self._folder.path).as_posix(): path for path in _files(self._folder.path)}
        for name, path in paths.items():
            stat = path.stat()
            version = (stat.st_mtime_ns, stat.st_size)
            if self._seen.get(name) == version:
                continue
            digest = sha256(path)
            if self._hashes.get(name) != digest:
                self._send(name, path)
                self._hashes[name] = digest
                remember(self._folder, self._server, {"run_id": self._run_id, "files": self._hashes})
                sent += 1
            self._seen[name] = version
        self._tag_tables([names.file(name) for name in paths if name.startswith("tables/")])
        return sent

    def _send(self, name: str, path: Path) -> None:
        self._upload(path, names.file(name))
        if picture := _PICTURE.fullmatch(name):
            self._film(path, picture["film"], int(picture["step"]))

    def _film(self, path: Path, film: str, step: int) -> None:
        """Show a picture as ``log_image`` does, but under names that stay the same when it is sent again."""
        from PIL import Image

        title = re.sub(r"[^\w\-. /]", "_", film, flags=re.ASCII).replace("/", "~")
        moment = int(self._folder.record["created"] * 1000)
        same = uuid.uuid5(uuid.UUID(self._folder.id), f"{film}/{step}")
        name = f"images/{title}+step+{step}+timestamp+{moment}+{same}"
        self._upload(path, f"{name}.png")
        with tempfile.TemporaryDirectory() as temporary, Image.open(path) as image:
            small = Path(temporary) / "small.webp"
            image.thumbnail((_SMALL, _SMALL))
            image.save(small)
            self._upload(small, f"{name}+compressed.webp")
        self._client.set_tag(self._run_id, "mlflow.loggedImages", "True")

    def _upload(self, path: Path, remote: str) -> None:
        parent, _, name = remote.rpartition("/")
        if name == path.name:
            self._client.log_artifact(self._run_id, str(path), parent or None)
            return
        with tempfile.TemporaryDirectory() as temporary:
            copy = Path(temporary) / name
            copy.write_bytes(path.read_bytes())
            self._client.log_artifact(self._run_id, str(copy), parent or None)

    def _tag_tables(self, tables: list[str]) -> None:
        """Tell the UI which files are tables: the last ones by name, as many as fit into a tag."""
        if tables == self._tables:
            return
        self._tables = list(tables)
        while len(value := json.dumps([{"path": name, "type": "table"} for name in tables])) > names.TAG_LENGTH:
            tables = tables[1:]
        self._client.set_tag(self._run_id, "mlflow.loggedArtifacts", value)

    def _listing(self, path: str | None) -> Iterator[str]:
        for entry in self._client.list_artifacts(self._run_id, path):
            if entry.is_dir:
                yield from self._listing(entry.path)
            else:
                yield entry.path


def known(folder: RunFolder, server: str) -> dict[str, Any]:
    """What ``mlflow.json`` says of a server: the run's id there, and the hashes of the files that it has."""
    return dict(_read(folder).get(server, {}))


def remember(folder: RunFolder, server: str, record: dict[str, Any]) -> None:
    """Write that down."""
    write_json(folder.path / "mlflow.json", {**_read(folder), server: record})


def _read(folder: RunFolder) -> dict[str, Any]:
    """All of ``mlflow.json``; nothing where it is missing or damaged, since MLflow can be asked again."""
    try:
        record = read_json(folder.path / "mlflow.json")
    except UserError:
        return {}
    return record if isinstance(record, dict) else {}


def _files(folder: Path) -> Iterator[Path]:
    yield folder / "run.json"
    for part in ("tables", "artifacts"):
        for path in sorted((folder / part).rglob("*")):
            if path.is_file() and not path.name.startswith("."):
                yield path
