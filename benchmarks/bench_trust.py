#!/usr/bin/env python3
"""Can `kpt bench` be trusted? Run it where it will be used.

    python benchmarks/bench_trust.py [--tries 20] [--seconds 4]

Identical code must be called the same, again and again; a variant with 2 % more work must be found. Both are measured
in this process with the settings of `kpt bench`. Then its figures and its cost beside triton.testing.do_bench on the
same calls. Without a GPU everything runs on the CPU and is labelled so; do_bench is then not run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

from kernel_pytorch.models.clock.device import Device, Timer, current_device
from kernel_pytorch.models.clock.rounds import Sampling
from kernel_pytorch.models.clock.sensors import Sensors, sensors_of
from kernel_pytorch.models.clock.statistics import percentile
from kernel_pytorch.perf.bench.run import measure
from kernel_pytorch.perf.bench.target import Target


def products(count: int, size: int, device: str) -> Target:
    """`count` matrix products in a row: 51 are 2 % more work than 50."""
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    a = torch.randn(size, size, device=device, dtype=dtype) / size**0.5
    b = torch.randn(size, size, device=device, dtype=dtype) / size**0.5

    def run(x: torch.Tensor) -> torch.Tensor:
        for _ in range(count):
            x = x @ b
        return x

    return Target(f"{count} products of {size}", run, (a,))


def judged(targets: list[Target], device: Device, sensors: Sensors, seconds: float) -> tuple[str, float, float, float]:
    """Verdict, ratio, the chance of being wrong, and the seconds it took."""
    started = time.perf_counter()
    settings = Sampling(seconds=seconds, energy_seconds=0.0)
    with torch.inference_mode():
        _, (verdict,) = measure(targets, device, sensors, settings)
    return verdict.verdict, verdict.ratio, verdict.chance_wrong or 0.0, time.perf_counter() - started


def main() -> int:
    """Prints the figures; exit 1 if the bar of 19 in 20 is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=4.0, help="per try, at most")
    args = parser.parse_args()
    device = current_device()
    sensors = sensors_of(device)
    place, size = ("cuda", 2048) if device.is_gpu else ("cpu", 128)
    print(f"{device.kind}: {device.name}, torch {torch.__version__}, sensors: {sensors.source}")
    same = series(
        "identical code", lambda: [products(50, size, place), products(50, size, place)], args, device, sensors
    )
    slower = series(
        "2 % more work", lambda: [products(50, size, place), products(51, size, place)], args, device, sensors
    )
    if device.is_gpu:
        beside_do_bench(device)
    else:
        print("do_bench: not run (no GPU)")
    good = same["same"] >= 0.95 * args.tries and slower["slower"] >= 0.95 * args.tries
    return 0 if good else 1


def series(
    title: str, make: Callable[[], list[Target]], args: argparse.Namespace, device: Device, sensors: Sensors
) -> Counter[str]:
    """Many tries, each with tensors of its own."""
    rows = [judged(make(), device, sensors, args.seconds) for _ in range(args.tries)]
    counts = Counter(verdict for verdict, *_ in rows)
    ratios = sorted(ratio for _, ratio, _, _ in rows)
    seconds = sorted(taken for *_, taken in rows)
    print(
        f"{title}: {dict(counts)} in {len(rows)} tries; B/A {ratios[0]:.4f} to {ratios[-1]:.4f}, "
        f"median {percentile(ratios, 50):.4f}; largest chance of being wrong {max(row[2] for row in rows):.2g}; "
        f"{percentile(seconds, 50):.2f} s each (median)",
        flush=True,
    )
    return counts


def beside_do_bench(device: Device) -> None:
    """Cold-cache medians and the time both take to get them."""
    try:
        from triton.testing import do_bench
    except ImportError:
        print("do_bench: not run (no triton)")
        return
    sensors = Sensors()
    calls: dict[str, Callable[[], Any]] = {}
    for count in (1 << 16, 1 << 24, 1 << 27):
        x, y = (torch.randn(count, device="cuda") for _ in range(2))
        calls[f"add of {count}"] = lambda x=x, y=y: x + y
    for size in (512, 4096):
        a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        calls[f"product of {size}"] = lambda a=a, b=b: a @ b
    print("cold cache, median in us:        kpt bench   do_bench     ratio   | seconds: kpt   do_bench")
    for name, call in calls.items():
        started = time.perf_counter()
        theirs = do_bench(call, return_mode="median")
        middle = time.perf_counter()
        settings = Sampling(cold_cache=True, seconds=2.0, energy_seconds=0.0)
        (result,), _ = measure([Target(name, call)], device, sensors, settings)
        ended = time.perf_counter()
        ours = result.time.median_ms
        print(
            f"  {name:<28} {1e3 * ours:12.2f} {1e3 * theirs:10.2f} {ours / theirs:9.3f}   |"
            f" {ended - middle:12.2f} {middle - started:10.2f}"
        )
    timer = Timer(device)
    empty = sorted(timer.sample(lambda: None).device_ms or 0.0 for _ in range(200))
    print(f"two events with nothing between: {1e3 * percentile(empty, 50):.2f} us (median)")


if __name__ == "__main__":
    sys.exit(main())
