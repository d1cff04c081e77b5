"""The Triton kernels in Triton's interpreter against fp64, and the rewrites that call them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

CHECK = """
import torch
from torch import nn
from kernel_pytorch.backends.amd import AMDOptimizer
from kernel_pytorch.models.rewrites import gated, norms
from tests.backends.amd.optimizer.models import GatedMLP, HandWrittenRMSNorm, TiedTransformer

torch.manual_seed(0)
for dtype, limit in ((torch.float32, 1e-6), (torch.bfloat16, 1.6e-2)):
    for shape in ((3, 16), (2, 5, 100), (1, 1), (4, 257)):
        x, weight = torch.randn(shape).to(dtype), torch.rand(shape[-1]).add(0.5).to(dtype)
        for rows in (x, x.transpose(0, -2)):
            exact = nn.functional.rms_norm(rows.double(), shape[-1:], weight.double(), 1e-5)
            for order in (norms.ROUND_FIRST, norms.WEIGHT_FIRST):
                found = norms.rms_values(rows, weight, 1e-5, order, norms.IN_EAGER_INFERENCE)
                error = (found.double() - exact).abs() / exact.abs()
                assert error.max() < limit, (dtype, shape, error.max())
        up = torch.randn(shape).to(dtype)
        exact = nn.functional.silu(x.double()) * up.double()
        error = (gated.product(x, up, "silu", gated.IN_EAGER_INFERENCE).double() - exact).abs()
        assert (error / exact.abs().clamp_min(1e-6)).max() < limit, (dtype, shape)

launches = []
for module in (norms, gated):
    def counted(name, *arguments, real=module.call):
        launches.append(name)
        return real(name, *arguments)
    module.call = counted

model, ids = TiedTransformer().eval(), torch.randint(32, (2, 6))
with torch.no_grad():
    expected = model(ids)
    optimizer = AMDOptimizer(rewrites=[norms.REWRITE, gated.REWRITE])
    optimizer.optimize(model, "aggressive", ids)
    summary = optimizer.get_optimization_summary()
    assert summary["optimizations_undone"] == [], summary
    done = [item["name"] for item in summary["optimizations_applied"]]
    assert done == ["fused RMS norm", "gated activation"], summary
    assert len(summary["optimizations_applied"][0]["where"]) == 4 and len(summary["fused_operations"]) == 6
    launches.clear()
    torch.testing.assert_close(model(ids), expected, rtol=1e-4, atol=1e-5)
    assert sorted(launches) == ["gated"] * 2 + ["rms_norm"] * 4, launches

launches.clear()
model(ids).sum().backward()  # gradients are asked for: torch's own operations
assert launches == [] and all(item.grad is not None for item in model.parameters())

class Almost(HandWrittenRMSNorm):
    def forward(self, hidden):
        return self.weight * hidden * torch.rsqrt(hidden.pow(2).mean(0, keepdim=True) + self.eps)

for odd in (Almost(),):
    optimizer = AMDOptimizer(rewrites=[norms.REWRITE])
    optimizer.optimize(odd.eval(), "aggressive", torch.randn(3, 16))
    summary = optimizer.get_optimization_summary()
    assert summary["optimizations_applied"] == [] and summary["optimizations_undone"] == [], summary
    assert "looks like an RMS norm" in summary["optimizations_not_applied"][0]["reason"], summary

for dtype, eps, count in ((torch.float32, None, 1), (torch.bfloat16, None, 0), (torch.bfloat16, 1e-3, 1)):
    model, x = nn.Sequential(nn.RMSNorm(16, eps=eps)).to(dtype).eval(), 0.01 * torch.randn(3, 16, dtype=dtype)
    with torch.no_grad():
        expected = model(x)
        optimizer = AMDOptimizer(rewrites=[norms.REWRITE])
        optimizer.optimize(model, "aggressive", x)
        assert len(optimizer.get_optimization_summary()["optimizations_applied"]) == count
        torch.testing.assert_close(model(x), expected)
print("done")
"""


def test_kernels_and_their_rewrites_in_the_interpreter() -> None:
    root = Path(__file__).parents[4]
    # Triton decides on import whether it interprets, so this needs a process of its own.
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
    result = subprocess.run([sys.executable, "-c", CHECK], env=environment, capture_output=True, text=True)
    assert result.returncode == 0 and result.stdout.endswith("done\n"), result.stderr[-3000:]
