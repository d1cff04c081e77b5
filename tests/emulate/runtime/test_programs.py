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
