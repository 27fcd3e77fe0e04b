"""A PostgreSQL of the tests' own, on a free port of this machine."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any


def binaries() -> Path | None:
    """The folder of PostgreSQL's programs, if there is one."""
    named = shutil.which("initdb")
    found = [*sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")), *([Path(named).resolve()] if named else [])]
    folders = [path.parent for path in found if (path.parent / "createdb").exists()]
    return folders[0] if folders else None


class Postgres:
    """A server with one database; it refuses to run as root, and then runs as nobody."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="stemcell-postgres-"))
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self._folder, nobody.pw_uid, nobody.pw_gid)
            self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]

    def url(self, database: str) -> str:
        """The address of a database."""
        return f"postgresql://stemcell@127.0.0.1:{self._port}/{database}"

    def start(self, *databases: str) -> None:
        data = self._folder / "data"
        self._run(
            "initdb",
            "--pgdata",
            data,
            "--username",
            "stemcell",
            "--auth",
            "trust",
            "--no-sync",
            "--locale",
            "C",
            "--encoding",
            "UTF8",
        )
        command = [self._programs / "postgres", "-D", data, "-p", str(self._port), "-k", self._folder]
        options = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
        self._process = subprocess.Popen(
            [*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self._folder, **self._as
        )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                for name in databases:
                    self._run("createdb", "-h", "127.0.0.1", "-p", str(self._port), "-U", "stemcell", name)
                return
            except subprocess.CalledProcessError:
                time.sleep(0.3)
        raise AssertionError("PostgreSQL does not start")

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(timeout=60)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, program: str, *arguments: object) -> None:
        command = [self._programs / program, *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True, cwd=self._folder, timeout=60, **self._as)
