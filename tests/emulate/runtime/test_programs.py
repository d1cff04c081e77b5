"""Real programs, compiled for AMD GPUs and run on translated machine code."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.runtime_build import runtime_directory
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain

SOURCE = """
#include <hip/hip_runtime.h>
#include <cstdio>
__device__ float table[4] = {1, 2, 3, 4};
__constant__ int shift;
__managed__ int shared_with_host = 3;
__global__ void work(const int *in, float *out, int n) {
    extern __shared__ int tile[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    tile[t] = i < n ? in[i] : 0;
    __syncthreads();
    if (i < n) out[i] = tile[blockDim.x - 1 - t] * table[t % 4] + shift;
    if (i == 0) shared_with_host *= 5;
}
int main() {
    const int n = 1000;
    static int in[n];
    static float out[n];
    for (int i = 0; i < n; i++) in[i] = i;
    int *d_in, seven = 7;
    float *d_out;
    if (hipMalloc(&d_in, n * 4) || hipMalloc(&d_out, n * 4)) return 1;
    if (hipMemcpy(d_in, in, n * 4, hipMemcpyHostToDevice)) return 2;
    if (hipMemcpyToSymbol(HIP_SYMBOL(shift), &seven, 4)) return 3;
    work<<<(n + 127) / 128, 128, 128 * 4>>>(d_in, d_out, n);
    if (hipGetLastError() || hipDeviceSynchronize()) return 4;
    if (hipMemcpy(out, d_out, n * 4, hipMemcpyDeviceToHost)) return 5;
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        int source = i / 128 * 128 + 127 - i % 128;
        wrong += out[i] != (source < n ? source : 0) * float(i % 128 % 4 + 1) + 7;
    }
    hipDeviceProp_t p;
    if (hipGetDeviceProperties(&p, 0)) return 6;
    printf("wrong %d, shared %d, wave %d\\n", wrong, shared_with_host, p.warpSize);
    return wrong != 0;
}
"""


@pytest.mark.rocm_headers
@pytest.mark.parametrize("gpu", ["mi300x", "rx7900xtx"])
def test_a_program_runs_unchanged(tmp_path: Path, gpu: str) -> None:
    from kernel_pytorch.emulate.run import run_program
    from kernel_pytorch.emulate.translate import translate_module
    from kernel_pytorch.toolchain.program import build_program

    try:
        toolchain = find_toolchain("clang")
    except ToolchainNotFoundError as problem:
        pytest.skip(str(problem))
    source = tmp_path / "program.hip"
    source.write_text(SOURCE)
    link = [f"-L{runtime_directory()}", "-lamdhip64"]
    chosen = gpu_by_alias(gpu)
    program = build_program([source], chosen.target.name, toolchain, tmp_path / "program", None, link)
    for device in program.device:
        translate_module(device.code_object, device.assembly, "plain")
    outcome = run_program(program.executable, [], chosen)
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stdout == f"wrong 0, shared 15, wave {chosen.target.wave_size}\n"
    assert outcome.events.complete and len(outcome.events.launches) == 1


FIRST_UNIT = """
#include <hip/hip_runtime.h>
__device__ int table[4];
__device__ int twice(int x);
__global__ void apply(int *p) { p[threadIdx.x] = twice(p[threadIdx.x]) + table[threadIdx.x & 3]; }
"""
SECOND_UNIT = """
#include <hip/hip_runtime.h>
#include <cstdio>
extern __device__ int table[4];
__device__ int twice(int x) { return 2 * x; }
__global__ void fill() { table[threadIdx.x] = 100 * threadIdx.x; }
__global__ void apply(int *p);
int main() {
    int h[64], *d;
    for (int i = 0; i < 64; i++) h[i] = i;
    if (hipMalloc(&d, sizeof h) || hipMemcpy(d, h, sizeof h, hipMemcpyHostToDevice)) return 1;
    fill<<<1, 4>>>();
    apply<<<1, 64>>>(d);
    if (hipMemcpy(h, d, sizeof h, hipMemcpyDeviceToHost)) return 2;
    printf("%d %d\\n", h[1], h[63]);
}
"""


@pytest.mark.rocm_headers
def test_device_code_is_linked_across_units(tmp_path: Path) -> None:
    from kernel_pytorch.emulate.program import build_emulated
    from kernel_pytorch.emulate.run import run_program
    from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions

    try:
        toolchain = find_toolchain("clang")
    except ToolchainNotFoundError as problem:
        pytest.skip(str(problem))
    sources = [tmp_path / "first.hip", tmp_path / "second.hip"]
    for path, text in zip(sources, (FIRST_UNIT, SECOND_UNIT), strict=True):
        path.write_text(text)
    options = CompileOptions(extra=("-fgpu-rdc",))
    program = build_emulated(sources, "gfx942", toolchain, tmp_path / "program", options)
    assert len(program.device) == 1
    outcome = run_program(program.executable, [], gpu_by_alias("mi300x"))
    assert (outcome.exit_code, outcome.stdout) == (0, "102 426\n"), outcome.stderr
    with pytest.raises(CompileFailed, match="twice"):
        build_emulated(sources[:1], "gfx942", toolchain, tmp_path / "alone", options)


def test_a_program_is_stopped_after_its_cpu_seconds(tmp_path: Path) -> None:
    from kernel_pytorch.emulate.run import RunSettings, run_program

    script = tmp_path / "busy"
    script.write_text("#!/bin/sh\nwhile true; do :; done\n")
    script.chmod(0o755)
    outcome = run_program(script, [], gpu_by_alias("mi300x"), RunSettings(cpu_s=1))
    assert outcome.exit_code is None
