from __future__ import annotations

import pytest
import torch

from stemcell.tasks.modules import MLP, Biaffine, SharedDropout


@pytest.mark.parametrize("bias_left", [True, False])
@pytest.mark.parametrize("bias_right", [True, False])
@pytest.mark.parametrize("labels", [1, 3])
def test_biaffine_is_the_bilinear_form_with_ones_appended(labels, bias_left, bias_right):
    torch.manual_seed(0)
    biaffine = Biaffine(5, labels, bias_left, bias_right)
    for parameter in biaffine.parameters():
        torch.nn.init.normal_(parameter)
    left, right = torch.randn(2, 4, 5), torch.randn(2, 6, 5)
    matrix = torch.zeros(labels, 6, 6)
    matrix[:, :5, :5] = biaffine.weight.view(labels, 5, 5).mT
    if bias_left:
        matrix[:, 5, :5] = biaffine.right.view(labels, 5)
    if bias_right:
        matrix[:, :5, 5] = biaffine.left
    if bias_left and bias_right:
        matrix[:, 5, 5] = biaffine.constant

    def one(vectors):
        return torch.nn.functional.pad(vectors, (0, 1), value=1)

    expected = torch.einsum("bix,oxy,bjy->boij", one(left), matrix, one(right))
    cube = biaffine(left, right)
    torch.testing.assert_close(cube, expected if labels > 1 else expected[:, 0])
    # Few pairs are scored one by one, many by way of the cube.
    for pairs in (3, 50):
        batch, rows, columns = (torch.randint(size, (pairs,)) for size in (2, 4, 6))
        some = biaffine.at(left, right, batch, rows, columns)
        torch.testing.assert_close(some, expected[batch, :, rows, columns])


def test_biaffine_starts_at_zero_and_mlp_orthogonal():
    assert not Biaffine(4, 2)(torch.randn(1, 3, 4), torch.randn(1, 3, 4)).any()
    weight = MLP(8, 4).linear.weight
    torch.testing.assert_close(weight @ weight.T, torch.eye(4), atol=1e-5, rtol=0)


def test_shared_dropout_drops_the_same_features_at_all_positions():
    torch.manual_seed(0)
    dropout = SharedDropout(0.5)
    ones = torch.ones(3, 7, 1000)
    dropped = dropout(ones)
    assert (dropped == dropped[:, :1]).all()
    assert not (dropped[0] == dropped[1]).all()
    assert dropped.unique().tolist() == [0, 2]
    assert dropped.mean().item() == pytest.approx(1, abs=0.1)
    assert dropout.eval()(ones) is ones
