"""mamba: the Triton kernels of Mamba-2 and Mamba-3, forward and backward, without the compiled extension.

Triton's autotuner takes the first configuration instead of the fastest: timing would choose another one from run to
run. The list of configurations is itself compared.
"""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

import torch


def run(tree: Path, device: str) -> dict[str, object]:
    if device != "cuda":
        raise SystemExit("mamba's kernels are Triton's: they need a GPU")
    from triton.runtime.autotuner import Autotuner

    Autotuner._bench = lambda *_, **__: [1.0, 1.0, 1.0]
    package = types.ModuleType("mamba_ssm")  # its __init__ wants the compiled extension
    package.__path__ = [str(tree / "mamba_ssm")]
    sys.modules["mamba_ssm"] = package
    results: dict[str, object] = {}
    results.update(_two())
    results.update(_three())
    for name in ("ssd_chunk_scan", "mamba3.mamba3_siso_fwd", "mamba3.mamba3_siso_bwd"):
        module = importlib.import_module(f"mamba_ssm.ops.triton.{name}")
        tuned = {key: item for key, item in vars(module).items() if isinstance(item, Autotuner)}
        for key, item in tuned.items():
            results[f"configurations of {key}"] = [str(config) for config in item.configs]
    return results


def _two() -> dict[str, object]:
    scan = importlib.import_module("mamba_ssm.ops.triton.ssd_combined").mamba_chunk_scan_combined
    torch.manual_seed(1)
    x = _random(2, 256, 8, 64)
    dt = torch.nn.functional.softplus(torch.randn(2, 256, 8, device="cuda")).requires_grad_()
    a = (-torch.rand(8, device="cuda") - 0.5).requires_grad_()
    b, c = _random(2, 256, 1, 64), _random(2, 256, 1, 64)
    d, z = torch.randn(8, device="cuda", requires_grad=True), _random(2, 256, 8, 64)
    out = scan(x, dt, a, b, c, chunk_size=64, D=d, z=z)
    out.float().square().mean().backward()
    inputs = {"x": x, "dt": dt, "A": a, "B": b, "C": c, "D": d, "z": z}
    return {"mamba2: output": out, **{f"mamba2: gradient of {name}": item.grad for name, item in inputs.items()}}


def _three() -> dict[str, object]:
    scan = importlib.import_module("mamba_ssm.ops.triton.mamba3.mamba3_siso_combined").mamba3_siso_combined
    torch.manual_seed(2)
    batch, length, heads, size = 2, 256, 4, 64
    q, k, v, z = (_random(batch, length, heads, size) for _ in range(4))
    dt = torch.nn.functional.softplus(torch.randn(batch, heads, length, device="cuda")) * 0.1
    adt, dt = (-dt).requires_grad_(), dt.clone().requires_grad_()
    trap = torch.rand(batch, heads, length, device="cuda").requires_grad_()
    q_bias, k_bias = (torch.randn(heads, size, device="cuda").requires_grad_() for _ in range(2))
    angles = torch.rand(batch, length, heads, size // 4, device="cuda").requires_grad_()
    d = torch.randn(heads, device="cuda", requires_grad=True)
    out = scan(q, k, v, adt, dt, trap, q_bias, k_bias, angles, D=d, Z=z)
    out.float().square().mean().backward()
    names = ["Q", "K", "V", "ADT", "DT", "Trap", "Q_bias", "K_bias", "Angles", "D", "Z"]
    inputs = (q, k, v, adt, dt, trap, q_bias, k_bias, angles, d, z)
    return {
        "mamba3: output": out,
        **{f"mamba3: gradient of {name}": item.grad for name, item in zip(names, inputs, strict=True)},
    }


def _random(*shape: int) -> torch.Tensor:
    return (torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * 0.5).requires_grad_()
