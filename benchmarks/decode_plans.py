"""How the kernels of decoding should cut their matrices: every plan on the shapes of published decoders.

    python benchmarks/decode_plans.py [--shapes PART ...] [--json FILE] [--processes 12]

Each kernel runs over so many copies of its weights that no cache holds them, one launch after another as in decoding
(with programmatic dependent launch where the GPU has it), replayed as a graph. Printed per shape: the plan that
`perf/decode/launch.py` takes, the best one, and the share of a copy's bandwidth that both reach. Needs a GPU.
"""

from __future__ import annotations

import argparse
import fcntl
import itertools
import json
import multiprocessing
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

# (rows of each matrix, columns); "gated" has two matrices of these rows.
SHAPES: dict[str, tuple[str, list[int], int]] = {
    "3B qkv": ("products", [3072, 1024, 1024], 3072),
    "3B o": ("products", [3072], 3072),
    "3B gated": ("gated", [8192], 3072),
    "3B down": ("products", [3072], 8192),
    "8B qkv": ("products", [4096, 1024, 1024], 4096),
    "8B o": ("products", [4096], 4096),
    "8B gated": ("gated", [14336], 4096),
    "8B down": ("products", [4096], 14336),
    "8B head": ("products", [128256], 4096),
    "0.6B qkv": ("products", [2048, 1024, 1024], 1024),
    "0.6B o": ("products", [1024], 2048),
    "0.6B gated": ("gated", [3072], 1024),
    "0.6B down": ("products", [1024], 3072),
    "1.1B qkv": ("products", [2048, 256, 256], 2048),
    "1.1B o": ("products", [2048], 2048),
    "1.1B gated": ("gated", [5632], 2048),
    "1.1B down": ("products", [2048], 5632),
}
ROWS, BLOCKS, WARPS = (1, 2, 4, 8), (256, 512, 1024, 2048), (1, 2, 4, 8)
COLD_BYTES = 400_000_000
MOST_VALUES_A_THREAD = 256


def plans(columns: int) -> list[tuple[int, int, int]]:
    return [
        (rows, block, warps)
        for rows, block, warps in itertools.product(ROWS, BLOCKS, WARPS)
        if block <= 2 * columns and 8 <= rows * block // (32 * warps) <= MOST_VALUES_A_THREAD
    ]


def timed(kind: str, rows: list[int], columns: int, plan: Any) -> float:
    """Microseconds of one launch with the given plan; None of ours where the plan is None."""
    import torch

    from kernel_pytorch.perf.decode import launch

    count = 2 if kind == "gated" else 1
    size = count * sum(rows) * columns * 2
    copies = max(2, min(64, COLD_BYTES // size + 1))
    dtype, device = torch.bfloat16, "cuda"
    x, norm = torch.randn(1, columns, device=device, dtype=dtype), torch.rand(columns, device=device, dtype=dtype)
    sets = [
        [torch.randn(one, columns, device=device, dtype=dtype) for one in (rows * 2 if kind == "gated" else rows)]
        for _ in range(copies)
    ]
    if plan is not None:
        made = launch._plan(*plan, columns, 4 if kind == "gated" else 2)
        launch.plan_for = lambda *a: made
        launch.gated_plan = lambda *a: made

    def run() -> None:
        for weights in sets:
            if kind == "gated":
                launch.row_gated(x, *weights, norm, 1e-5, True)
            else:
                launch.row_products(x, weights, norm, 1e-5, [], None, True)

    run()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    times = []
    for _ in range(15):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / copies)
    return sorted(times)[len(times) // 2]


def one_shape(job: tuple[str, Any, str]) -> tuple[str, Any, float | None]:
    """Compiles without the lock, times with it. A child of its own: the plan is put into the module."""
    name, plan, lock = job
    kind, rows, columns = SHAPES[name]
    import torch

    from kernel_pytorch.perf.decode import launch

    try:
        if plan is not None:
            made = launch._plan(*plan, columns, 4 if kind == "gated" else 2)
            launch.plan_for = lambda *a: made
            launch.gated_plan = lambda *a: made
        x = torch.randn(1, columns, device="cuda", dtype=torch.bfloat16)
        weights = [torch.zeros(one, columns, device="cuda", dtype=torch.bfloat16) for one in rows]
        norm = x[0].clone()
        if kind == "gated":
            launch.row_gated(x, weights[0], weights[0], norm, 1e-5, True)
        else:
            launch.row_products(x, weights, norm, 1e-5, [], None, True)
        torch.cuda.synchronize()
        with Path(lock).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            return name, plan, timed(kind, rows, columns, plan)
    except Exception as error:  # a plan that does not fit is no plan
        print(f"{name} {plan}: {type(error).__name__}: {str(error)[:100]}", file=sys.stderr)
        return name, plan, None
    finally:
        import importlib

        importlib.reload(launch)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=[""])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--processes", type=int, default=12)
    args = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        print("not run: this needs a GPU", file=sys.stderr)
        return 2
    from optimize_h200 import bandwidth_gbs

    copy = bandwidth_gbs() or 1.0
    names = [name for name in SHAPES if any(part in name for part in args.shapes)]
    with tempfile.TemporaryDirectory() as place:
        lock = str(Path(place) / "lock")
        jobs = [(name, plan, lock) for name in names for plan in (None, *plans(SHAPES[name][2]))]
        with multiprocessing.get_context("spawn").Pool(args.processes) as pool:
            found = pool.map(one_shape, jobs, chunksize=1)
    print(f"{torch.cuda.get_device_name()}, copy {copy:.0f} GB/s. Share of it: plan taken; best (rows, block, warps)")
    for name in names:
        kind, rows, columns = SHAPES[name]
        size = (2 if kind == "gated" else 1) * sum(rows) * columns * 2
        rate = {plan: size / us / 1e3 / copy for one, plan, us in found if one == name and us}
        ours = rate.pop(None, 0.0)
        best = sorted(rate, key=lambda plan: -rate[plan])[:4]
        print(f"{name:10} {ours:6.1%}   " + "  ".join(f"{plan} {rate[plan]:.1%}" for plan in best), flush=True)
    if args.json:
        args.json.write_text(json.dumps([[name, plan, us] for name, plan, us in found]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
