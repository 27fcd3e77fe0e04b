"""How fast a layer is: what is measured, and what is told of it."""

from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional

from stemcell import speed
from stemcell.training import run


@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_a_layer_is_computed_at_the_precision(precision, monkeypatch):
    seen, linear = [], functional.linear

    def spy(*given):
        result = linear(*given)
        seen.append((result.dtype, result.requires_grad))
        return result

    monkeypatch.setattr(functional, "linear", spy)
    state = torch.get_rng_state()
    assert speed.layer_seconds("cpu", precision, 8, repeats=3) > 0
    assert seen == [(speed.TYPES[precision], True)] * 4
    assert torch.equal(torch.get_rng_state(), state)


def test_a_slow_precision_is_told(monkeypatch, capsys):
    # A process has one state for all its accelerators, which other tests have set.
    accelerator = SimpleNamespace(device=torch.device("cpu"), is_main_process=True)
    monkeypatch.setattr("accelerate.Accelerator", lambda mixed_precision: accelerator)
    for seconds, told in (({"no": 1.0, "bf16": 21.7}, True), ({"no": 1.0, "bf16": 0.5}, False)):
        monkeypatch.setattr(speed, "layer_seconds", lambda device, precision, size, given=seconds: given[precision])
        speed.slowdown.cache_clear()
        assert run.make_accelerator("bf16") is accelerator
        assert ("bf16 is 22 times slower than float32 on this processor" in capsys.readouterr().err) == told
    speed.slowdown.cache_clear()
