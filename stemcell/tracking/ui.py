"""MLflow's pages over the store in use, for this machine alone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from types import FrameType

from stemcell.errors import UserError
from stemcell.home import home
from stemcell.tracking import store

HOST = "127.0.0.1"
# Seconds until a server that does not answer is given up.
_START = 120.0


def serve(port: int) -> None:
    """Serve MLflow on 127.0.0.1 until Ctrl-C or SIGTERM, and say where.

    Raises:
        UserError: if the port is taken, the store is a server itself, or MLflow does not start.
    """
    uri = store.tracking_uri()
    if uri.startswith(("http://", "https://")):
        raise UserError(f"MLFLOW_TRACKING_URI is a server with pages of its own: open {store.shown(uri)}")
    _require_free(port)
    with store.answers():
        store.connect()
    root = store.artifact_root(uri) or home().absolute() / "mlartifacts"
    command = [sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(port), "--workers", "1"]
    # By environment, since a database's address may hold a password and command lines can be read by all.
    environment = {
        **os.environ,
        "MLFLOW_BACKEND_STORE_URI": uri,
        "MLFLOW_DEFAULT_ARTIFACT_ROOT": root.as_uri(),
        "MLFLOW_ARTIFACTS_DESTINATION": root.as_uri(),
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    }
    with tempfile.TemporaryFile() as log:
        # A session of its own: Ctrl-C reaches us alone, and we stop all of its processes.
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        before = signal.signal(signal.SIGTERM, _interrupt)
        try:
            if not _wait(server, port):
                log.seek(0)
                raise UserError(f"MLflow did not start:\n{log.read().decode(errors='replace')[-2000:]}")
            print(f"MLflow's pages: http://{HOST}:{port} (this machine only; Ctrl-C stops)", flush=True)
            print(f"shown store: {store.shown(uri)}", flush=True)
            server.wait()
        except KeyboardInterrupt:
            print("stopped")
        finally:
            signal.signal(signal.SIGTERM, before)
            _stop(server)


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        # As a server binds: connections of an earlier one that linger do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise UserError(f"port {port} cannot be used ({error.strerror}); choose another one with --port") from None


def _wait(server: subprocess.Popen[bytes], port: int) -> bool:
    # This machine is not to be asked for by way of a proxy.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + _START
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with direct.open(f"http://{HOST}:{port}/health", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    return False


def _stop(server: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(server.pid, number)
            server.wait(timeout=5)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
