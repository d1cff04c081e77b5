"""Measures what this device reaches: large matrix products per type, and a large copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.perf.profile import Peaks
from kernel_pytorch.perf.roofline.peaks import recorded_gpu

if TYPE_CHECKING:
    import torch

SIZE = 8192
COPY_BYTES = 1 << 30
ROUNDS = 20


def measure_peaks() -> Peaks:
    """Peaks of the current GPU with achievable figures measured now. Raises UsageError without a GPU."""
    import torch

    from kernel_pytorch.perf.profile_run import device_facts

    if not torch.cuda.is_available():
        raise UsageError("--measure-peaks needs a GPU; name one with --gpu to use the hardware table instead")
    facts = device_facts()
    reached = {
        name: rate
        for name, dtype in (("bf16", torch.bfloat16), ("fp16", torch.float16), ("fp32", torch.float32))
        if (rate := _product_tflops(dtype)) is not None
    }
    bandwidth = _copy_gbs()
    table = recorded_gpu(facts)
    if table is None:
        name = str(facts["name"])
        return Peaks(
            name, bandwidth, dict(reached), dict(reached), dict(reached), bandwidth, "measured (not in the table)"
        )
    return replace(
        table, achievable=reached, achievable_gbs=bandwidth, source=f"{table.source}; achievable measured now"
    )


def _best_ms(call: Callable[[], object]) -> float:
    import torch

    for _ in range(3):
        call()
    times = []
    for _ in range(ROUNDS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return float(sorted(times)[len(times) // 4])


def _product_tflops(dtype: torch.dtype) -> float | None:
    import torch

    try:
        # Random values: zeros draw less power and clock higher than any real product.
        a = torch.randn(SIZE, SIZE, device="cuda").to(dtype)
        b = torch.randn(SIZE, SIZE, device="cuda").to(dtype)
        milliseconds = _best_ms(lambda: a @ b)
    except torch.OutOfMemoryError:
        return None
    return float(2 * SIZE**3 / milliseconds / 1e9)


def _copy_gbs() -> float:
    import torch

    source = torch.randn(COPY_BYTES // 4, device="cuda")
    target = torch.empty_like(source)
    return 2 * COPY_BYTES / _best_ms(lambda: target.copy_(source)) / 1e6
