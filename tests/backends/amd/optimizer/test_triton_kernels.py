"""The Triton kernels in Triton's interpreter against fp64, and the rewrites that call them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

CHECK = """
import sys
import torch
from torch import nn
from kernel_pytorch.backends.amd import AMDOptimizer
from kernel_pytorch.models.rewrites import triton_kernels
from kernel_pytorch.models.rewrites import fused_norms
from kernel_pytorch.models.rewrites import gated_activation
from tests.backends.amd.optimizer.models import GatedMLP, HandWrittenRMSNorm, TiedTransformer

torch.manual_seed(0)
for dtype, limit in ((torch.float32, 1e-6), (torch.bfloat16, 1.6e-2)):
    for shape in ((3, 16), (2, 5, 100), (1, 1), (4, 257)):
        x, weight = torch.randn(shape).to(dtype), torch.rand(shape[-1]).add(0.5).to(dtype)
        for rows in (x, x.transpose(0, -2)):
            exact = nn.functional.rms_norm(rows.double(), shape[-1:], weight.double(), 1e-5)
            for weight_first in (True, False):
                error = (triton_kernels.rms_norm(rows, weight, 1e-5, weight_first).double() - exact).abs() / exact.abs()
                assert error.max() < limit, (dtype, shape, error.max())
        up = torch.randn(shape).to(dtype)
        exact = nn.functional.silu(x.double()) * up.double()
        error = (triton_kernels.silu_times(x, up).double() - exact).abs() / exact.abs().clamp_min(1e-6)
        assert error.max() < limit, (dtype, shape, error.max())

triton_kernels.why_not = lambda model: None  # the interpreter serves the CPU
launches = []
for name in ("rms_norm", "silu_times"):
    def counted(*args, real=getattr(triton_kernels, name), name=name):
        launches.append(name)
        return real(*args)
    setattr(triton_kernels, name, counted)

model, ids = TiedTransformer().eval(), torch.randint(32, (2, 6))
with torch.no_grad():
    expected = model(ids)
    optimizer = AMDOptimizer(rewrites=[fused_norms.REWRITE, gated_activation.REWRITE])
    optimizer.optimize(model, "aggressive", ids)
    summary = optimizer.get_optimization_summary()
    assert summary["optimizations_undone"] == [], summary
    done = [item["name"] for item in summary["optimizations_applied"]]
    assert done == ["fused RMS norm", "gated activation"], summary
    assert len(summary["optimizations_applied"][0]["where"]) == 4 and len(summary["fused_operations"]) == 6
    launches.clear()
    torch.testing.assert_close(model(ids), expected, rtol=1e-4, atol=1e-5)
    assert sorted(launches) == ["rms_norm"] * 4 + ["silu_times"] * 2, launches

launches.clear()
model(ids).sum().backward()  # gradients are asked for: torch's own operations
assert launches == [] and all(item.grad is not None for item in model.parameters())

class Almost(HandWrittenRMSNorm):
    def forward(self, hidden):
        return self.weight * hidden * torch.rsqrt(hidden.pow(2).mean(0, keepdim=True) + self.eps)

for odd in (Almost(),):
    optimizer = AMDOptimizer(rewrites=[fused_norms.REWRITE])
    optimizer.optimize(odd.eval(), "aggressive", torch.randn(3, 16))
    summary = optimizer.get_optimization_summary()
    assert summary["optimizations_applied"] == [] and summary["optimizations_undone"] == [], summary
    assert "looks like an RMS norm" in summary["optimizations_not_applied"][0]["reason"], summary

for dtype, eps, count in ((torch.float32, None, 1), (torch.bfloat16, None, 0), (torch.bfloat16, 1e-3, 1)):
    model, x = nn.Sequential(nn.RMSNorm(16, eps=eps)).to(dtype).eval(), 0.01 * torch.randn(3, 16, dtype=dtype)
    with torch.no_grad():
        expected = model(x)
        optimizer = AMDOptimizer(rewrites=[fused_norms.REWRITE])
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


@pytest.mark.parametrize(("arch", "wave"), [("gfx942", 64), ("gfx1100", 32)])
def test_kernels_build_for_amd(arch: str, wave: int) -> None:
    """A code object from Triton's own AMD back end. It is built here, not run."""
    from triton import compile as triton_compile
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from kernel_pytorch.models.rewrites.triton_kernels import _kernels

    if os.environ.get("TRITON_INTERPRET") == "1":
        pytest.skip("Triton interprets in this process, and builds nothing")
    pointer, kernels = "*bf16", _kernels()
    sources = (
        ASTSource(
            kernels["rms_norm"],
            {
                "out": pointer,
                "x": pointer,
                "weight": pointer,
                "stride": "i32",
                "length": "i32",
                "eps": "fp32",
                "BLOCK": "constexpr",
                "ROUND_FIRST": "constexpr",
            },
            {"BLOCK": 4096, "ROUND_FIRST": True},
        ),
        ASTSource(
            kernels["silu_times"],
            {"out": pointer, "gate": pointer, "up": pointer, "length": "i32", "BLOCK": "constexpr"},
            {"BLOCK": 1024},
        ),
    )
    for source in sources:
        built = triton_compile(source, target=GPUTarget("hip", arch, wave))
        assert built.asm["hsaco"][:4] == b"\x7fELF" and "_store_" in built.asm["amdgcn"]
