#!/usr/bin/env python3
"""The emulated GPU beside HIP-CPU: the same HIP sources, compiled by each, timed in turn in one run.

    git clone https://github.com/ROCm/HIP-CPU
    python benchmarks/emulate_peers.py HIP-CPU --checks

HIP-CPU needs g++ and TBB (Debian: libtbb-dev); it is built with the flags of its own benchmarks. It compiles a kernel
for the CPU and runs every thread as a fiber; the emulator runs the machine code of the chosen GPU. Times are those of
launch and synchronise, the best of several, the first launch apart; every program checks its result. `of CPU time` is
the ratio of the CPU seconds of a launch: less disturbed than the clock where the machine does other work. `cores` is
CPU time over wall time. `translated` is how long a kernel's machine code took to become a library, once. With --checks
the other builds are timed too, as a ratio to the plain one; `races` runs on one thread.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.hardware import GPU, gpu_by_alias
from kernel_pytorch.emulate.program import build_emulated
from kernel_pytorch.emulate.run import RunSettings, run_program
from kernel_pytorch.emulate.translate import translate_module
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.toolchain.program import DeviceCode

HIP_CPU_FLAGS = ("-std=c++17", "-O3", "-march=native", "-ffast-math", "-fopenmp-simd", "-w")
CHECKS = {
    "checked": RunSettings(checked=True),
    "races": RunSettings(checked=True, races=True),
    "counted": RunSettings(counted=True),
}
# Checks look at every byte: their cost is taken on a smaller grid, with fewer launches.
SMALLER, CHECK_LAUNCHES = 16, 4

HEAD = """
#include <hip/hip_runtime.h>
#include <sys/resource.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
template <class T> T *on_device(const std::vector<T> &from) {
  T *to = nullptr;
  if (hipMalloc((void **)&to, from.size() * sizeof(T)) != hipSuccess) exit(3);
  if (hipMemcpy(to, from.data(), from.size() * sizeof(T), hipMemcpyHostToDevice) != hipSuccess) exit(3);
  return to;
}
template <class T> std::vector<T> back(const T *from, size_t count) {
  std::vector<T> to(count);
  if (hipMemcpy(to.data(), from, count * sizeof(T), hipMemcpyDeviceToHost) != hipSuccess) exit(3);
  return to;
}
static std::vector<float> numbers(size_t count) {
  std::vector<float> x(count);
  for (size_t i = 0; i < count; i++) x[i] = float(i * 7 % 1000) * 0.25f;
  return x;
}
static double cpu_seconds() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1e-6 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}
template <class F> void timed(int runs, F launch) {
  for (int i = 0; i < runs; i++) {
    double cpu_before = cpu_seconds();
    auto before = std::chrono::steady_clock::now();
    launch();
    if (hipDeviceSynchronize() != hipSuccess) exit(4);
    double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    printf("%.9f %.9f\\n", took, cpu_seconds() - cpu_before);
  }
}
"""


@dataclass(frozen=True)
class Kernel:
    """A kernel with the host code that launches and checks it. `n` elements; `lanes` whether threads cooperate."""

    name: str
    n: int
    source: str
    lanes: bool = True


FLAT = """
__global__ void work(const float *x, const float *y, float *z, float a, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = {expression};
}}
int main(int, char **argv) {{
  int n = atoi(argv[1]), runs = atoi(argv[2]);
  auto x = numbers(n), y = numbers(n);
  float *dx = on_device(x), *dy = on_device(y), *dz = on_device(y), a = 2.5f;
  timed(runs, [&] {{ hipLaunchKernelGGL(work, dim3((n + 255) / 256), dim3(256), 0, 0, dx, dy, dz, a, n); }});
  auto z = back(dz, n);
  for (int i = 0; i < n; i++)
    if (std::fabs(z[i] - ({check})) > 1e-3f) return 1;
  return 0;
}}
"""
SUM_MAIN = """
int main(int, char **argv) {
  int n = atoi(argv[1]), runs = atoi(argv[2]);
  std::vector<int> x(n);
  long long sum = 0;
  for (int i = 0; i < n; i++) x[i] = i * 7 % 1000, sum += x[i];
  int *dx = on_device(x), *dout = on_device(std::vector<int>(n / 256));
  timed(runs, [&] { hipLaunchKernelGGL(work, dim3(n / 256), dim3(256), 0, 0, dx, dout); });
  for (int part : back(dout, n / 256)) sum -= part;
  return sum != 0;
}
"""
SHARED_SUM = """
__global__ void work(const int *x, int *out) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  for (int o = 128; o > 0; o >>= 1) {
    if (t < o) s[t] += s[t + o];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
"""
SHUFFLE_SUM = """
__global__ void work(const int *x, int *out) {
  __shared__ int s[32];
  int t = threadIdx.x, v = x[blockIdx.x * 256 + t];
  for (int o = warpSize / 2; o > 0; o >>= 1) v += __shfl_down(v, o);
  if (t % warpSize == 0) s[t / warpSize] = v;
  __syncthreads();
  if (t == 0) {
    int sum = 0;
    for (int w = 0; w < 256 / warpSize; w++) sum += s[w];
    out[blockIdx.x] = sum;
  }
}
"""
MATMUL = """
__global__ void work(const float *a, const float *b, float *c, int n) {
  __shared__ float as[16][16], bs[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    as[ty][tx] = a[row * n + k + tx];
    bs[ty][tx] = b[(k + ty) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; i++) sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
int main(int, char **argv) {
  int n = int(std::sqrt(double(atoi(argv[1])))) / 16 * 16, runs = atoi(argv[2]);
  auto a = numbers(size_t(n) * n), b = numbers(size_t(n) * n);
  float *da = on_device(a), *db = on_device(b), *dc = on_device(a);
  timed(runs, [&] { hipLaunchKernelGGL(work, dim3(n / 16, n / 16), dim3(16, 16), 0, 0, da, db, dc, n); });
  auto c = back(dc, size_t(n) * n);
  for (int at = 0; at < n; at++) {
    int row = at, column = at * 5 % n;
    double sum = 0;
    for (int k = 0; k < n; k++) sum += double(a[row * n + k]) * b[k * n + column];
    if (std::fabs(c[row * n + column] - sum) > 1e-4 * std::fabs(sum)) return 1;
  }
  return 0;
}
"""
HISTOGRAM = """
__global__ void work(const unsigned *x, unsigned *bins, int n) {
  __shared__ unsigned local[256];
  local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[x[i] & 255u], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
int main(int, char **argv) {
  int n = atoi(argv[1]), runs = atoi(argv[2]), blocks = n / 256 / 16;
  std::vector<unsigned> x(n), expected(256);
  for (int i = 0; i < n; i++) x[i] = i * 2654435761u >> 7, expected[x[i] & 255] += runs;
  unsigned *dx = on_device(x), *dbins = on_device(std::vector<unsigned>(256));
  timed(runs, [&] { hipLaunchKernelGGL(work, dim3(blocks), dim3(256), 0, 0, dx, dbins, n); });
  return back(dbins, 256) != expected;
}
"""
SCAN = """
__global__ void work(const int *x, int *out) {
  __shared__ int s[256];
  int t = threadIdx.x, at = blockIdx.x * 256 + t;
  s[t] = x[at];
  __syncthreads();
  for (int o = 1; o < 256; o *= 2) {
    int before = t >= o ? s[t - o] : 0;
    __syncthreads();
    s[t] += before;
    __syncthreads();
  }
  out[at] = s[t];
}
int main(int, char **argv) {
  int n = atoi(argv[1]), runs = atoi(argv[2]);
  std::vector<int> x(n);
  for (int i = 0; i < n; i++) x[i] = i * 7 % 1000;
  int *dx = on_device(x), *dout = on_device(x);
  timed(runs, [&] { hipLaunchKernelGGL(work, dim3(n / 256), dim3(256), 0, 0, dx, dout); });
  auto out = back(dout, n);
  for (int i = 0, sum = 0; i < n; i++) {
    sum = i % 256 ? sum + x[i] : x[i];
    if (out[i] != sum) return 1;
  }
  return 0;
}
"""
KERNELS = (
    Kernel("vector add", 1 << 24, FLAT.format(expression="x[i] + y[i]", check="x[i] + y[i]"), lanes=False),
    Kernel("saxpy", 1 << 24, FLAT.format(expression="a * x[i] + y[i]", check="a * x[i] + y[i]"), lanes=False),
    Kernel("shared reduction", 1 << 22, SHARED_SUM + SUM_MAIN),
    Kernel("shuffle reduction", 1 << 22, SHUFFLE_SUM + SUM_MAIN),
    Kernel("tiled matmul", 1 << 18, MATMUL),
    Kernel("LDS histogram", 1 << 22, HISTOGRAM),
    Kernel("block scan", 1 << 22, SCAN),
)


@dataclass(frozen=True)
class Timing:
    """Seconds of the first launch and of the best of the others, by the clock and of CPU; how many cores were busy."""

    first: float
    best: float
    cpu: float
    cores: float


def main() -> int:
    """Builds every program for both, runs them in turn, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hip_cpu", nargs="?", type=Path, help="a checkout of ROCm/HIP-CPU; without it only we run")
    parser.add_argument("--gpu", default="mi300x")
    parser.add_argument("--only", nargs="*", metavar="WORD", help="kernels whose name has one of these words")
    parser.add_argument("--launches", type=int, default=8, help="launches in one run of a program")
    parser.add_argument("--rounds", type=int, default=3, help="runs of every program, in turn with the peer's")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--checks", action="store_true", help="also the checked, races and counted builds")
    args = parser.parse_args()
    if args.launches < 2:
        parser.error("--launches: the first launch is not counted, so at least 2")
    if args.hip_cpu is not None and not (args.hip_cpu / "include/hip/hip_runtime.h").is_file():
        parser.error(f"{args.hip_cpu}: no include/hip/hip_runtime.h; expected a checkout of ROCm/HIP-CPU")
    chosen = [one for one in KERNELS if not args.only or any(word in one.name for word in args.only)]
    if not chosen:
        parser.error(f"--only: no such kernel; there are {', '.join(one.name for one in KERNELS)}")
    gpu = gpu_by_alias(args.gpu)
    print(f"{gpu.name} ({gpu.target.name}) on {os.cpu_count()} cores, {args.threads} threads; load {_load()}")
    print(f"best of {args.rounds} x {args.launches - 1} launches, in milliseconds\n")
    columns = ("HIP-CPU", "ours", "ours/HIP-CPU", "of CPU time", "first", "cores", "peer's", "translated")
    print(f"{'':<18}" + "".join(f"{name:>13}" for name in (*columns, *(CHECKS if args.checks else ()))), flush=True)
    missed = [kernel.name for kernel in chosen if not _one(kernel, gpu, args)]
    print(f"\nload at the end {_load()}")
    if args.hip_cpu is not None:
        print(f"not within the target: {', '.join(missed) or 'none'} (target: <= 2 on flat loops, < 1 elsewhere)")
    return 1 if missed else 0


def _one(kernel: Kernel, gpu: GPU, args: argparse.Namespace) -> bool:
    """Builds and times one kernel, prints its row; whether the ratio is within the target."""
    plain = RunSettings(threads=args.threads)
    with tempfile.TemporaryDirectory(prefix="kpt-peers-") as scratch:
        work = Path(scratch)
        source = work / "kernel.hip"
        source.write_text(HEAD + kernel.source)
        ours, theirs = work / "ours", work / "theirs"
        program = build_emulated([source], gpu.target.name, find_toolchain(), ours)
        translated = _translation_seconds(program.device[0], work)
        if args.hip_cpu is not None:
            _build_hip_cpu(args.hip_cpu, source, theirs)
        our_runs, their_runs = [], []
        for _ in range(args.rounds):
            if args.hip_cpu is not None:
                their_runs.append(_run_hip_cpu(theirs, kernel.n, args))
            our_runs.append(_run_ours(ours, kernel.n, gpu, plain, args.launches))
        mine, peer = _best(our_runs), _best(their_runs) if their_runs else None
        ratio = mine.best / peer.best if peer else 0.0
        cells = [_ms(peer.best) if peer else "-", _ms(mine.best), f"{ratio:.2f}" if peer else "-"]
        cells += [
            f"{mine.cpu / peer.cpu:.2f}" if peer else "-",
            _ms(mine.first),
            f"{mine.cores:.1f}",
            f"{peer.cores:.1f}" if peer else "-",
            f"{translated:.2f} s",
        ]
        if args.checks:
            cells += _check_ratios(ours, program.device[0], kernel, gpu, args)
        print(f"{kernel.name:<18}" + "".join(f"{cell:>13}" for cell in cells), flush=True)
    return peer is None or ratio <= (1.0 if kernel.lanes else 2.0)


def _translation_seconds(code: DeviceCode, work: Path) -> float:
    started = time.monotonic()
    translate_module(code.code_object, code.assembly, "plain", work / "cache")
    return time.monotonic() - started


def _check_ratios(ours: Path, code: DeviceCode, kernel: Kernel, gpu: GPU, args: argparse.Namespace) -> list[str]:
    """The CPU time of each check as a ratio to the plain build, on a smaller grid, at the same number of threads."""
    cells = []
    n = kernel.n // SMALLER
    for settings in CHECKS.values():
        threads = 1 if settings.races else args.threads
        translate_module(code.code_object, code.assembly, settings.build)
        plain = _run_ours(ours, n, gpu, RunSettings(threads=threads), CHECK_LAUNCHES)
        checked = RunSettings(settings.checked, settings.races, settings.counted, threads=threads)
        cells.append(f"{_run_ours(ours, n, gpu, checked, CHECK_LAUNCHES).cpu / plain.cpu:.1f}")
    return cells


def _build_hip_cpu(checkout: Path, source: Path, destination: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        raise SystemExit("g++ is needed to build for HIP-CPU")
    command = [compiler, *HIP_CPU_FLAGS, "-x", "c++", f"-I{checkout / 'include'}", str(source), "-o", str(destination)]
    done = subprocess.run([*command, "-ltbb", "-lpthread"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"HIP-CPU: {source.name} does not build (is TBB there?):\n{done.stderr[-3000:]}")


def _run_hip_cpu(program: Path, n: int, args: argparse.Namespace) -> Timing:
    command = [str(program), str(n), str(args.launches)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"HIP-CPU: a wrong result or an error, status {done.returncode}: {done.stderr[-500:]}")
    return _timing(done.stdout)


def _run_ours(program: Path, n: int, gpu: GPU, settings: RunSettings, launches: int) -> Timing:
    outcome = run_program(program, [str(n), str(launches)], gpu, settings)
    if not outcome.ok:
        said = outcome.stderr[-500:] + "".join(str(fault) for fault in outcome.events.faults[:3])
        raise SystemExit(f"emulated: a wrong result or an error, status {outcome.exit_code}: {said}")
    return _timing(outcome.stdout)


def _timing(text: str) -> Timing:
    walls, cpus = zip(*((float(wall), float(cpu)) for wall, cpu in map(str.split, text.splitlines())), strict=True)
    return Timing(walls[0], min(walls[1:]), min(cpus[1:]), sum(cpus[1:]) / sum(walls[1:]))


def _best(runs: list[Timing]) -> Timing:
    first, best, cpu = (min(getattr(run, name) for run in runs) for name in ("first", "best", "cpu"))
    return Timing(first, best, cpu, max(run.cores for run in runs))


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f}"


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    sys.exit(main())
