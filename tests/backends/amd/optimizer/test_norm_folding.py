"""Batch norms folded for inference: exact to rounding, never stale, and out of the way of training."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from kernel_pytorch.backends.amd import AMDOptimizer
from kernel_pytorch.models.rewrites import norm_folding

from .models import ConvNet


def optimized(model: nn.Module, x: torch.Tensor) -> list[str]:
    optimizer = AMDOptimizer(rewrites=[norm_folding.REWRITE])
    optimizer.optimize(model, "balanced", x)
    return [place for item in optimizer.get_optimization_summary()["optimizations_applied"] for place in item["where"]]


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_fold_is_exact_in_fp64(axes: int, affine: bool, bias: bool) -> None:
    torch.manual_seed(0)
    convolution = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[axes - 1](4, 6, 3, padding=1, padding_mode="reflect", bias=bias)
    norm = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[axes - 1](6, affine=affine, eps=1e-3)
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.2, 3.0)
    model, x = nn.Sequential(convolution, norm).double().eval(), torch.randn(2, 4, *[5] * axes, dtype=torch.float64)
    with torch.no_grad():
        expected = model(x)
        assert optimized(model, x) == ["0 + 1"]
        torch.testing.assert_close(model(x), expected, rtol=1e-12, atol=1e-12)


def test_changed_weights_are_seen() -> None:
    torch.manual_seed(0)
    model, x = ConvNet().eval(), torch.randn(2, 3, 8, 8)
    twin = copy.deepcopy(model)
    assert len(optimized(model, x)) == 3
    with torch.no_grad():
        model(x)
        for item in (model, twin):
            item.conv.weight.mul_(1.5)
            item.norm.running_mean.add_(0.3)
            item.stem[1].bias.sub_(0.2)
        torch.testing.assert_close(model(x), twin(x))
        model.load_state_dict(ConvNet().state_dict())
        twin.load_state_dict(model.state_dict())
        torch.testing.assert_close(model(x), twin(x))


def test_gradients_in_eval_mode_reach_every_parameter() -> None:
    model, x = ConvNet().eval(), torch.randn(2, 3, 8, 8)
    twin = copy.deepcopy(model)
    assert len(optimized(model, x)) == 3
    for item in (model, twin):
        item(x).square().sum().backward()
    for (name, one), other in zip(model.named_parameters(), twin.named_parameters(), strict=True):
        torch.testing.assert_close(one.grad, other[1].grad, msg=name)


def test_a_batch_norm_that_trains_is_not_folded() -> None:
    model, x = ConvNet().eval(), torch.randn(4, 3, 8, 8)
    model.norm.train()
    assert optimized(model, x) == ["stem.0 + stem.1", "head + head_norm"]
    model.eval()
    assert optimized(model, x) == ["conv + norm"]
    model.norm.train()
    before = model.norm.running_mean.clone()
    with torch.no_grad():
        model(x)
    assert not torch.equal(model.norm.running_mean, before)


def test_bf16_convolution_with_an_fp32_norm() -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)).eval(), torch.randn(2, 3, 8, 8)
    model[1].running_var.uniform_(0.5, 2.0)
    with torch.no_grad():
        expected = model(x)
        model[0].bfloat16()
        assert optimized(model, x.bfloat16()) == ["0 + 1"]
        result = model(x.bfloat16())
    assert result.dtype == torch.bfloat16
    torch.testing.assert_close(result.float(), expected, rtol=0.05, atol=0.05)


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)
        self.linear, self.rows = nn.Linear(4, 3), nn.BatchNorm1d(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        return self.rows(self.linear(x.mean(1).transpose(1, 2)).transpose(1, 2)).sum() + self.norm(y) + y


def test_a_layer_that_is_used_without_its_norm_is_left_alone() -> None:
    optimizer = AMDOptimizer(rewrites=[norm_folding.REWRITE])
    optimizer.optimize(Twice().eval(), "balanced", torch.randn(2, 3, 4, 4))
    summary = optimizer.get_optimization_summary()
    assert summary["optimizations_applied"] == []
    assert "also used without" in summary["optimizations_not_applied"][0]["reason"]


def test_linear_and_norm_over_sequences_are_not_mixed_up() -> None:
    """BatchNorm1d of three axes normalises the middle one: with as many steps as features nothing would complain."""
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6)).eval()
    model[1].running_mean.normal_()
    rows, sequence = torch.randn(3, 4), torch.randn(2, 6, 4)
    with torch.no_grad():
        expected = model(sequence)
        assert optimized(model, rows) == ["0 + 1"]
        torch.testing.assert_close(model(sequence), expected)
