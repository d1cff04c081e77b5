"""Replayed graphs joined with what was captured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernel_pytorch.perf.analyse import analyse
from kernel_pytorch.perf.profile import Profile
from kernel_pytorch.perf.trace.chrome import read_chrome_trace
from kernel_pytorch.perf.trace.recording import Recording

BF16 = "c10::BFloat16"
SIZES = {"small": [[16, 64], [64, 32]], "large": [[512, 64], [64, 32]]}


def captured(
    builder: Callable[..., Any], sizes: tuple[str, ...] = ("small",), *, kernel: bool = True, file: str = "capture.json"
) -> Recording:
    """One graph for each size: a product, a copy, the product again."""
    made = builder("amd" if kernel else "nvidia")
    vendor = "hip" if kernel else "cuda"
    at = 0.0
    for size in sizes:
        made.span("cuda_runtime", f"{vendor}StreamBeginCapture", at, 1)
        for number, (operator, name) in enumerate((("aten::mm", "gemm"), ("aten::clone", ""), ("aten::mm", "gemm"))):
            start = at + 10 * (number + 1)
            made.operator(operator, start, 8, SIZES[size], [BF16, BF16])
            call = "LaunchKernel" if name else "MemcpyAsync"
            extra = {"kernel": name, "grid": [4, 1, 1]} if kernel and name else {}
            made.span("cuda_runtime", f"{vendor}{call}", start + 2, 1, correlation=int(1 + start), **extra)
        made.span("cuda_runtime", f"{vendor}StreamEndCapture", at + 50, 1)
        at += 100
    return read_chrome_trace(made.write(file))


def replayed(builder: Callable[..., Any], captures: list[Recording], times: int = 2, vendor: str = "amd") -> Profile:
    made = builder(vendor)
    for number in range(times):
        at = 1000.0 * (number + 1)
        call = "hipGraphLaunch" if vendor == "amd" else "cudaGraphLaunch"
        made.span("cuda_runtime", call, at, 5, correlation=900 + number)
        for offset, name, category in (
            (10, "gemm", "kernel"),
            (20, "Memcpy DtoD", "gpu_memcpy"),
            (30, "gemm", "kernel"),
        ):
            arguments = {"device": 0, "stream": 0, "correlation": 900 + number}
            made.span(category, name, at + offset, 8, **arguments)
    return analyse(read_chrome_trace(made.write("replay.json")), captures=captures)


def test_kernels_of_a_replay_have_the_operators_they_were_captured_with(builder: Callable[..., Any]) -> None:
    blind = replayed(builder, [])
    assert blind.modelled_share == 0.0
    assert any("give that trace with --capture" in note for note in blind.notes)
    seen = replayed(builder, [captured(builder)])
    assert seen.modelled_share == 1.0
    rows = {row.name: row for row in seen.operators}
    # Two replays of two products: each is a call of its own.
    assert rows["aten::mm"].calls == 4 and rows["aten::mm"].kernels == 4
    assert "bfloat16[16,64]" in rows["aten::mm"].shapes
    assert "2 of 2 replays of graphs joined with what was captured" in seen.notes


def test_a_capture_in_the_same_recording_will_do(builder: Callable[..., Any]) -> None:
    made = builder()
    captured(builder)
    made.span("cuda_runtime", "hipStreamBeginCapture", 0, 1)
    made.operator("aten::mm", 10, 8, SIZES["small"], [BF16, BF16])
    made.span("cuda_runtime", "hipLaunchKernel", 12, 1, correlation=5, kernel="gemm", grid=[4, 1, 1])
    made.span("cuda_runtime", "hipStreamEndCapture", 30, 1)
    made.kernel("gemm", 100, 8, launched=60, call="hipGraphLaunch")
    profile = analyse(read_chrome_trace(made.write("both.json")))
    assert [row.name for row in profile.operators] == ["aten::mm"]


def test_graphs_of_different_sizes_with_the_same_kernels_are_not_guessed(builder: Callable[..., Any]) -> None:
    profile = replayed(builder, [captured(builder, ("small", "large"))])
    assert profile.modelled_share == 0.0
    # The same graph captured twice is no riddle.
    assert replayed(builder, [captured(builder, ("small", "small"))]).modelled_share == 1.0


def test_without_kernel_names_the_number_of_nodes_decides(builder: Callable[..., Any]) -> None:
    """NVIDIA's profiler does not say which kernel a captured launch is of."""
    names = captured(builder, kernel=False)
    seen = replayed(builder, [names], vendor="nvidia")
    assert seen.modelled_share == 1.0 and {row.name for row in seen.operators} == {"aten::mm", "aten::clone"}
