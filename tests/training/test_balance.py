import pytest

from stemcell.training.balance import LossBalance


def test_one_task_is_left_alone():
    assert LossBalance(["pos"]).factor("pos", 3.0) == 1.0


def test_factor_is_the_sum_of_means_over_the_own_mean():
    balance = LossBalance(["pos", "dep", "con"])
    assert balance.factor("pos", 2.0) == 1.0  # the others count not at all before they are seen
    assert balance.factor("dep", 6.0) == pytest.approx((2 + 6) / 6)
    assert balance.factor("pos", 4.0) == pytest.approx((3 + 6) / 3)


def test_only_the_last_five_losses_count_the_current_one_included():
    balance = LossBalance(["pos", "dep"])
    balance.factor("dep", 1.0)
    for loss in (100, 1, 2, 3, 4):
        balance.factor("pos", loss)
    assert balance.factor("pos", 5.0) == pytest.approx((3 + 1) / 3)


def test_state_survives_a_checkpoint():
    balance, other = LossBalance(["pos", "dep"]), LossBalance(["pos", "dep"])
    for loss in (1.0, 2.0, 7.0):
        balance.factor("pos", loss)
    other.restore(balance.state())
    assert other.factor("dep", 3.0) == balance.factor("dep", 3.0)


def test_a_loss_of_zero_divides_nothing():
    balance = LossBalance(["pos", "dep"])
    balance.factor("dep", 1.0)
    assert balance.factor("pos", 0.0) == 1.0
