"""Real pipelines whose reader has gone."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("command", ["predict RUN TEXT", "gates RUN", "evaluate RUN", "data check CORPUS"])
def test_they_end_as_by_sigpipe_and_say_nothing(trained: Path, corpus: Path, tmp_path: Path, command: str) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The dog sleeps .\n" * 40)
    places = {"RUN": trained, "TEXT": text, "CORPUS": corpus}
    words = [str(places.get(word, word)) for word in command.split()]
    # `true` reads nothing, and has gone before there is anything to read.
    line = f"{shlex.join([sys.executable, '-m', 'stemcell', *words])} | true; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    if command.startswith("gates"):  # a run without gates: one message, which goes to standard error
        assert result.returncode == 2
    else:
        assert (result.returncode, result.stderr) == (141, "")
