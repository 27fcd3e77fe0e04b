from __future__ import annotations

import subprocess
import sys

import pytest

from stemcell.corpora.layers import LAYERS
from stemcell.errors import UserError
from stemcell.tasks import NAMES, task


def test_every_layer_has_its_task():
    assert NAMES == LAYERS
    assert [task(name).name for name in NAMES] == list(NAMES)


def test_an_unknown_task_is_refused_with_the_nearest_name():
    with pytest.raises(UserError, match="did you mean 'srl'"):
        task("slr")


def test_names_cost_no_heavy_import():
    code = "import sys, stemcell.tasks; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
