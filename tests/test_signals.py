"""Which signals ask a command to stop."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

SCRIPT = "from stemcell.signals import exit_on_stop, stopping; exit_on_stop(); print(*(int(n) for n in stopping()))"


@pytest.mark.parametrize(("before", "heard"), [("", "2 15 1"), ("trap '' HUP; ", "2 15")])
def test_a_hangup_counts_unless_it_is_ignored_as_nohup_has_it(before: str, heard: str) -> None:
    assert signal.SIGHUP == 1
    command = ["sh", "-c", f'{before}exec "$0" -c "$1"', sys.executable, SCRIPT]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == heard
