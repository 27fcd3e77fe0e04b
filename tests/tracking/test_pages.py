"""``stemcell ui``: MLflow's pages, on this machine only."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import psutil
import pytest

from stemcell.errors import UserError
from stemcell.tracking import ui


@pytest.mark.slow
def test_pages_show_the_default_store_and_end_with_a_signal(run_home: Path, tmp_path: Path, fake_training: Any) -> None:
    assert fake_training(tmp_path / "run", 1).returncode == 0
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # Where tests run in the background of a script, their children would not hear Ctrl-C.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heard}; from stemcell.tracking.ui import serve; serve({port})"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stdout is not None
    try:
        assert f"http://127.0.0.1:{port}" in process.stdout.readline()
        # Everything that MLflow started listens on this machine's own address and no other.
        family = psutil.Process(process.pid).children(recursive=True)
        listening = {c.laddr.ip for p in family for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN}
        assert listening == {"127.0.0.1"}
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/2.0/mlflow/runs/search",
            json.dumps({"experiment_ids": ["1"], "filter": "tags.encoder = 'none'"}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert json.load(answer)["runs"]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
            assert b"MLflow" in answer.read()
        with pytest.raises(UserError, match=f"port {port} cannot be used.*--port"):
            ui.serve(port)
    finally:
        os.kill(process.pid, signal.SIGINT)
        rest, _ = process.communicate(timeout=90)
    assert rest.endswith("stopped\n")
    assert process.returncode == 0
    assert not [p for p in family if p.is_running()]
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"], "nothing is left in the working directory"


def test_a_server_has_pages_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:secret@tracking.example:5000")
    with pytest.raises(UserError, match=r"open http://tracking\.example:5000$"):
        ui.serve(5000)
