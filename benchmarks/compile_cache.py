"""What the kernel cache is worth: a hit against a compile, in one run on one machine.

    python benchmarks/compile_cache.py [--rounds 5] [--target gfx942] [--json]

Measured: a cold compile, a hit in the same process, a hit in a new process, and eight processes at once on one
empty directory (each wants the same four kernels, none may get lost). Calls are timed inside the process that makes
them, around `ROCmCompiler(config).compile_kernel(...)`; the columns "with imports" and "whole process" add what
Python itself takes, on both sides of the ratio. Medians; the ratios are the result, the times depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SOURCE_ROOT = Path(__file__).parents[1] / "src"
PROCESSES = 8
KERNELS = 4

KERNEL = """
__global__ void softmax_row(const float* in, float* out, int columns) {
  extern __shared__ float partial[];
  const float* row = in + (size_t)blockIdx.x * columns;
  float largest = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) largest = fmaxf(largest, row[i]);
  partial[threadIdx.x] = largest;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] = fmaxf(partial[threadIdx.x], partial[threadIdx.x + half]);
    __syncthreads();
  }
  largest = partial[0];
  __syncthreads();
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - largest);
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    out[(size_t)blockIdx.x * columns + i] = expf(row[i] - largest) / partial[0] + VARIANT;
}
"""

CHILD = """
import time
begin = time.perf_counter()
import json, sys
sys.path.insert(0, sys.argv[1])
from kernel_pytorch.backends.amd import ROCmCompiler
from kernel_pytorch.core.config import AMDConfig
loaded = time.perf_counter()
compiler = ROCmCompiler(AMDConfig(hip_compiler_cache_dir=sys.argv[2]), target=sys.argv[3])
kernels = [compiler.compile_kernel(source, "softmax_row") for source in json.loads(sys.argv[4])]
end = time.perf_counter()
print(json.dumps({"call_ms": (end - loaded) * 1e3, "with_imports_ms": (end - begin) * 1e3,
                  "hits": sum(kernel.cache_hit for kernel in kernels), "toolchain": kernels[0].toolchain}))
"""


def source(variant: int) -> str:
    return KERNEL.replace("VARIANT", f"{variant}.0f")


def start(directory: Path, target: str, sources: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, str(SOURCE_ROOT), str(directory), target, json.dumps(sources)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, _ = process.communicate()
    if process.returncode != 0:
        sys.exit(f"a child failed with status {process.returncode}")
    result: dict[str, Any] = json.loads(output)
    return result


def one_process(directory: Path, target: str, sources: list[str]) -> dict[str, Any]:
    begin = time.perf_counter()
    result = finish(start(directory, target, sources))
    return {**result, "process_ms": (time.perf_counter() - begin) * 1e3}


def cold_and_warm(rounds: int, target: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A compile and a hit, each in a process of its own, taken in turn so that both meet the same load."""
    cold, warm = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as directory:
            cold.append(one_process(Path(directory), target, [source(0)]))
            warm.append(one_process(Path(directory), target, [source(0)]))
    if any(one["hits"] for one in cold) or not all(one["hits"] for one in warm):
        sys.exit("the cache did not behave: a cold compile hit or a warm one missed")
    return cold, warm


def same_process(rounds: int, target: str) -> list[float]:
    """Milliseconds of hits in the process that compiled."""
    sys.path.insert(0, str(SOURCE_ROOT))
    from kernel_pytorch.backends.amd import ROCmCompiler
    from kernel_pytorch.core.config import AMDConfig

    with tempfile.TemporaryDirectory() as directory:
        compiler = ROCmCompiler(AMDConfig(hip_compiler_cache_dir=directory), target=target)
        compiler.compile_kernel(source(0), "softmax_row")
        times = []
        for _ in range(20 * rounds):
            begin = time.perf_counter()
            assert compiler.compile_kernel(source(0), "softmax_row").cache_hit
            times.append((time.perf_counter() - begin) * 1e3)
    return times


def at_once(target: str) -> dict[str, Any]:
    """Eight processes fill one directory together; a ninth must then find every kernel."""
    sources = [source(variant) for variant in range(KERNELS)]
    with tempfile.TemporaryDirectory() as directory:
        begin = time.perf_counter()
        processes = [start(Path(directory), target, sources) for _ in range(PROCESSES)]
        results = [finish(process) for process in processes]
        wall_s = time.perf_counter() - begin
        after = one_process(Path(directory), target, sources)
    return {
        "processes": PROCESSES,
        "kernels_each": KERNELS,
        "wall_s": wall_s,
        "hits_while_filling": sum(result["hits"] for result in results),
        "lost": KERNELS - after["hits"],
    }


def measure(rounds: int, target: str) -> dict[str, Any]:
    cold, warm = cold_and_warm(rounds, target)
    in_process = statistics.median(same_process(rounds, target))
    figures: dict[str, Any] = {"target": target, "rounds": rounds, "toolchain": cold[0]["toolchain"]}
    for name in ("call_ms", "with_imports_ms", "process_ms"):
        compile_ms = statistics.median(one[name] for one in cold)
        hit_ms = statistics.median(one[name] for one in warm)
        figures[name] = {"compile": compile_ms, "hit_new_process": hit_ms, "ratio": compile_ms / hit_ms}
    figures["call_ms"]["hit_same_process"] = in_process
    figures["call_ms"]["ratio_same_process"] = figures["call_ms"]["compile"] / in_process
    figures["at_once"] = at_once(target)
    return figures


def show(figures: dict[str, Any]) -> None:
    call, imports, process = (figures[name] for name in ("call_ms", "with_imports_ms", "process_ms"))
    print(f"{figures['target']}, {figures['rounds']} rounds, {figures['toolchain']}")
    print(f"{'':34}{'compile':>12}{'hit':>12}{'ratio':>9}")
    rows = (
        ("the call, same process", call["compile"], call["hit_same_process"], call["ratio_same_process"]),
        ("the call, new process", call["compile"], call["hit_new_process"], call["ratio"]),
        ("with imports, new process", imports["compile"], imports["hit_new_process"], imports["ratio"]),
        ("whole process, Python's start too", process["compile"], process["hit_new_process"], process["ratio"]),
    )
    for name, compile_ms, hit_ms, ratio in rows:
        print(f"{name:34}{compile_ms:9.1f} ms{hit_ms:9.2f} ms{ratio:8.0f}x")
    once = figures["at_once"]
    print(
        f"{once['processes']} processes at once, {once['kernels_each']} kernels each: {once['wall_s']:.1f} s, "
        f"{once['hits_while_filling']} hits on each other's work, {once['lost']} lost"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="compiles and hits to take the median of")
    parser.add_argument("--target", default="gfx942", help="gfx target to build for")
    parser.add_argument("--json", action="store_true", help="figures as JSON on standard output")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    figures = measure(arguments.rounds, arguments.target)
    if arguments.json:
        print(json.dumps(figures, indent=2))
    else:
        show(figures)
    return 1 if figures["at_once"]["lost"] else 0


if __name__ == "__main__":
    sys.exit(main())
