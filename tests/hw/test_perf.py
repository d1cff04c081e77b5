"""`kpt bench` and `kpt profile` on a real GPU of either vendor."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kernel_pytorch.models.clock.device import current_device
from kernel_pytorch.models.clock.rounds import Sampling
from kernel_pytorch.models.clock.sensors import sensors_of
from kernel_pytorch.perf.analyse import analyse
from kernel_pytorch.perf.bench.run import measure
from kernel_pytorch.perf.bench.target import Target
from kernel_pytorch.perf.profile_run import profile_target


def products(count: int, size: int = 2048) -> Target:
    """`count` matrix products in a row."""
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) / size**0.5 for _ in range(2))

    def run(x: torch.Tensor) -> torch.Tensor:
        for _ in range(count):
            x = x @ b
        return x

    return Target(f"{count} products", run, (a,))


@pytest.mark.usefixtures("gpu")
def test_more_work_is_found_and_the_same_is_not_called_different() -> None:
    """Half as much again is slower; the same work is never called faster or slower."""
    device = current_device()
    settings = Sampling(seconds=4.0, energy_seconds=0.1)
    with torch.inference_mode():
        results, verdicts = measure([products(50), products(50), products(75)], device, sensors_of(device), settings)
    assert verdicts[0].verdict in ("same", "undecided"), verdicts[0]
    assert verdicts[1].verdict == "slower" and verdicts[1].ratio > 1.2, verdicts[1]
    assert results[0].device == "gpu" and results[0].peak_memory_bytes is not None
    assert results[0].time.mean_ms <= results[0].host.mean_ms


def test_a_profile_adds_up(gpu: str) -> None:
    """The identity, the categories, and exact FLOPs."""
    model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.GELU(), torch.nn.LayerNorm(1024))
    model = model.to("cuda", torch.bfloat16).eval()
    x = torch.randn(512, 1024, device="cuda", dtype=torch.bfloat16)
    profile = analyse(profile_target(Target("mlp", model, (x,)), steps=2).recording)
    (row,) = profile.timelines
    assert (profile.device_kind, profile.vendor, profile.steps) == ("gpu", gpu, 2)
    assert abs(row.identity_gap_ms) < 1e-6
    assert profile.other_share < 0.03
    operators: dict[str, Any] = {one.name: one for one in profile.operators}
    assert operators["aten::addmm"].flops == 2 * 512 * 1024 * 1024 + 512 * 1024
    assert operators["aten::addmm"].calls == 2
    assert {"gemm", "norm", "elementwise"} <= {one.category for one in profile.categories}
