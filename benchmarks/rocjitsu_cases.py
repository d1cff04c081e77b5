#!/usr/bin/env python3
# ruff: noqa: N803 (constants of Triton kernels are written so)
"""The cases of rocjitsu's nightly benchmark on our emulator, on one core, beside the figures AMD published.

    python benchmarks/rocjitsu_cases.py                     needs torch, triton and numpy
    python benchmarks/rocjitsu_cases.py --only gemm

Shapes and types are those of benchmarks/suites/nightly.toml in ROCm/rocjitsu-test-corpus (September 2026); the kernels
are our own, written in Triton for the same operation, compiled for the same GPU. Every result is checked against torch.
Ours is the CPU time of a launch on one thread, the best of several: other work of the machine does not count.
The published figures are what their dashboard showed for gfx950 with eight simulator threads on 2026-09-22, and two of
one thread (host time of a launch, on a machine of theirs): another machine, so that the ratio says which is faster by
much, and no more.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl

from kernel_pytorch.emulate.device import EmulatedDevice
from kernel_pytorch.emulate.launch import launch_on
from kernel_pytorch.emulate.run import RunSettings


@triton.jit
def copy_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def add_kernel(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def transpose_kernel(x, y, rows, columns, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(x + r[:, None] * columns + c[None, :])
    tl.store(y + c[:, None] * rows + r[None, :], tl.trans(tile))


@triton.jit
def gather_kernel(x, indices, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(indices + at, mask=at < n, other=0)
    tl.store(y + at, tl.load(x + index, mask=at < n), mask=at < n)


@triton.jit
def atomic_kernel(x, y, n, buckets, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y + at % buckets, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def softmax_kernel(x, y, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    value = tl.load(x + row + at, mask=at < columns, other=-float("inf")).to(tl.float32)
    power = tl.exp(value - tl.max(value, 0))
    tl.store(y + row + at, (power / tl.sum(power, 0)).to(y.dtype.element_ty), mask=at < columns)


@triton.jit
def rmsnorm_kernel(x, weight, y, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    value = tl.load(x + row + at, mask=at < columns, other=0).to(tl.float32)
    scale = 1 / tl.sqrt(tl.sum(value * value, 0) / columns + 1e-5)
    tl.store(y + row + at, (value * scale * tl.load(weight + at)).to(y.dtype.element_ty), mask=at < columns)


@triton.jit
def gemm_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        at = start + tl.arange(0, BK)
        left = tl.load(a + i[:, None] * k + at[None, :], mask=(i[:, None] < m) & (at[None, :] < k), other=0.0)
        right = tl.load(b + at[:, None] * n + j[None, :], mask=(at[:, None] < k) & (j[None, :] < n), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + i[:, None] * n + j[None, :], total.to(c.dtype.element_ty), mask=(i[:, None] < m) & (j[None, :] < n))


@dataclass(frozen=True)
class Case:
    """One case: a function that gives kernel, grid, arguments, constants, and whether the result is right."""

    name: str
    theirs: float | None  # seconds; None: the figure was not at hand
    make: Callable[[], tuple[Any, Any, list[Any], dict[str, int], Callable[[], bool]]]
    threads: int = 8  # of theirs
    gpu: str = "mi355x"
    block: int = 256


def elementwise(kernel: Any, n: int, inputs: int) -> Callable[[], Any]:
    def make() -> Any:
        arrays = [torch.randn(n) for _ in range(inputs)]
        out = torch.empty(n)
        return (
            kernel,
            (triton.cdiv(n, 1024),),
            [*arrays, out, n],
            {"BLOCK": 1024},
            lambda: torch.equal(out, sum(arrays)),
        )

    return make


def transpose() -> Any:
    x = torch.randn(2048, 2048).half()
    y = torch.empty_like(x)
    return transpose_kernel, (32, 32), [x, y, 2048, 2048], {"BLOCK": 64}, lambda: torch.equal(y, x.t())


def gather() -> Any:
    x, n = torch.randn(8388608), 4194307
    indices = ((torch.arange(n, dtype=torch.int64) * 104729 + 17) % x.numel()).to(torch.int32)
    y = torch.empty(n)
    done = lambda: torch.equal(y, x[indices.long()])  # noqa: E731
    return gather_kernel, (triton.cdiv(n, 1024),), [x, indices, y, n], {"BLOCK": 1024}, done


def atomic_add() -> Any:
    x, y = torch.ones(131072), torch.zeros(256)
    done = lambda: bool((y >= 512).all() and (y % 512 == 0).all())  # noqa: E731 (one launch after the other adds up)
    return atomic_kernel, (128,), [x, y, 131072, 256], {"BLOCK": 1024}, done


def softmax(columns: int, kind: torch.dtype) -> Callable[[], Any]:
    def make() -> Any:
        x = torch.randn(64, columns).to(kind)
        y = torch.empty_like(x)
        done = lambda: torch.allclose(y.float(), torch.softmax(x.float(), 1), atol=1e-3)  # noqa: E731
        return softmax_kernel, (64,), [x, y, columns], {"BLOCK": triton.next_power_of_2(columns)}, done

    return make


def rmsnorm(kind: torch.dtype) -> Callable[[], Any]:
    def make() -> Any:
        x, weight = torch.randn(128, 4096).to(kind), torch.randn(4096).to(kind)
        y = torch.empty_like(x)
        wanted = torch.nn.functional.rms_norm(x.float(), (4096,), weight.float(), 1e-5)
        done = lambda: torch.allclose(y.float(), wanted, atol=3e-2, rtol=2e-2)  # noqa: E731
        return rmsnorm_kernel, (128,), [x, weight, y, 4096], {"BLOCK": 4096}, done

    return make


WMMA = """#include <hip/hip_runtime.h>
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));
__global__ void products(float *out, int rounds) {
  half16 a, b;
  for (int i = 0; i < 16; i++) a[i] = 1, b[i] = 0.5f;
  float8 sum = {};
  for (int i = 0; i < rounds; i++) sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, sum);
  out[blockIdx.x * 32 + threadIdx.x] = sum[0];
}
"""


def wmma() -> Any:
    out = torch.zeros(64 * 32)
    return WMMA, (64,), [out, 4096], {}, lambda: bool((out == 8.0 * 4096).all())


def fp8_gemm() -> Any:
    kind = torch.float8_e4m3fn
    a, b = (torch.randn(1024, 1024) * 0.25).to(kind), (torch.randn(1024, 1024) * 0.25).to(kind)
    c = torch.empty(1024, 1024, dtype=torch.float16)
    done = lambda: torch.allclose(c.float(), a.float() @ b.float(), atol=0.1, rtol=2e-2)  # noqa: E731
    return gemm_kernel, (16, 16), [a, b, c, 1024, 1024, 1024], {"BM": 64, "BN": 64, "BK": 64}, done


def gemm(m: int, n: int, k: int, kind: torch.dtype) -> Callable[[], Any]:
    def make() -> Any:
        a, b = torch.randn(m, k).to(kind), torch.randn(k, n).to(kind)
        c = torch.empty(m, n, dtype=kind)
        done = lambda: torch.allclose(c.float(), a.float() @ b.float(), atol=0.5, rtol=2e-2)  # noqa: E731
        grid = (triton.cdiv(m, 64), triton.cdiv(n, 64))
        return gemm_kernel, grid, [a, b, c, m, n, k], {"BM": 64, "BN": 64, "BK": 64}, done

    return make


CASES = (
    Case("copy, 32 MiB of fp32", 0.387, elementwise(copy_kernel, 8388608, 1)),
    Case("vector add, 8,388,611 fp32", 7.16, elementwise(add_kernel, 8388611, 2)),
    Case("transpose, 2048 x 2048 fp16", 0.407, transpose),
    Case("gather, 4,194,307 of fp32", 4.36, gather),
    Case("atomic add, 131,072 into 256", 7.08, atomic_add),
    Case("softmax, 64 x 4096 fp16", 0.013, softmax(4096, torch.float16)),
    Case("softmax, 64 x 4097 fp16", None, softmax(4097, torch.float16)),
    Case("rmsnorm, 128 x 4096 bf16", 0.0145, rmsnorm(torch.bfloat16)),
    Case("gemm, 256 x 256 x 512 fp16", 0.018, gemm(256, 256, 512, torch.float16)),
    Case("gemm, 250 x 250 x 510 bf16", None, gemm(250, 250, 510, torch.bfloat16)),
    Case("gemm, 1024 x 1024 x 1024 fp16", 0.370, gemm(1024, 1024, 1024, torch.float16)),
    Case("gemm, 1024 x 1024 x 1024 bf16", None, gemm(1024, 1024, 1024, torch.bfloat16)),
    Case("gemm, 1024 x 1024 x 1024 fp8", 4.21, fp8_gemm, threads=1),
    Case("262,144 WMMA of fp16 on gfx1100", 13.0, wmma, threads=1, gpu="rx7900xtx", block=32),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name has this word")
    parser.add_argument("--launches", type=int, default=5)
    args = parser.parse_args()
    wrong = []
    print(f"one thread of {processor()}; seconds\n")
    print("| case | rocjitsu, published | its threads | ours, 1 thread, CPU time | ratio |\n|---|---|---|---|---|")
    chosen = [case for case in CASES if args.only in case.name]
    for gpu in dict.fromkeys(case.gpu for case in chosen):
        with EmulatedDevice(gpu, RunSettings(threads=1)) as device:
            wrong += [case.name for case in chosen if case.gpu == gpu and not row(device, case, args.launches)]
    for name in wrong:
        print(f"wrong result: {name}", file=sys.stderr)
    return 1 if wrong else 0


def row(device: EmulatedDevice, case: Case, launches: int) -> bool:
    """Run a case and print its row; whether the result was right."""
    kernel, grid, words, constants, correct = case.make()
    times = []
    for _ in range(launches):
        events = launch_on(device, kernel, grid, case.block, *words, **constants)
        times.append(events.launches[-1].cpu_seconds)
    theirs = f"{case.theirs:g}" if case.theirs is not None else "-"
    ratio = f"{case.theirs / min(times):.1f}" if case.theirs is not None else "-"
    print(f"| {case.name} | {theirs} | {case.threads} | {min(times):.4f} | {ratio} |", flush=True)
    return correct()


def processor() -> str:
    """The CPU's own name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    sys.exit(main())
