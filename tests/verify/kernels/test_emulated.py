"""The recorder on the emulator: the same record as from a GPU, and a fault that only a wave of 64 shows."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

pytest.importorskip("torch")

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.program import build_emulated
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain
from kernel_pytorch.verify.kernels.record import KernelArchive
from kernel_pytorch.verify.kernels.record_comparison import compare_records
from kernel_pytorch.verify.kernels.run import ProgramRun, record_executable

# Sums of 32 lanes; a word makes it the hardware's 64, as a port that was left half done would.
SOURCE = """
#include <hip/hip_runtime.h>
__device__ int calls;
struct Buffers { const float *in; float *out; };
__global__ void twice(float *x) { x[threadIdx.x] *= 2; if (!threadIdx.x) atomicAdd(&calls, 1); }
__global__ void sums(Buffers b, int width) {
  float own = b.in[threadIdx.x];
  for (int step = width / 2; step > 0; step /= 2) own += __shfl_xor(own, step);
  b.out[threadIdx.x] = own;
}
int main(int count, char **) {
  float host[128], *x, *y;
  for (int i = 0; i < 128; i++) host[i] = i;
  if (hipMalloc(&x, sizeof host) || hipMalloc(&y, sizeof host)) return 1;
  if (hipMemcpy(x, host, sizeof host, hipMemcpyHostToDevice)) return 2;
  twice<<<1, 128>>>(x);
  sums<<<1, 128>>>(Buffers{x, y}, count > 1 ? 64 : 32);
  return hipDeviceSynchronize() != hipSuccess || hipGetLastError() != hipSuccess;
}
"""


@pytest.mark.rocm_headers
def test_a_wave_64_fault_is_named(tmp_path: Path) -> None:
    try:
        toolchain = find_toolchain()
    except ToolchainNotFoundError as missing:
        pytest.skip(str(missing))
    source = tmp_path / "program.hip"
    source.write_text(SOURCE)
    gpu = gpu_by_alias("mi300x")
    program = build_emulated([source], gpu.target.name, toolchain, tmp_path / "program").executable
    for name, words in (("right", ()), ("again", ()), ("wrong", ("x",))):
        record_executable(ProgramRun(program, words, gpu), tmp_path / name)
    right, again, wrong = (KernelArchive(tmp_path / name) for name in ("right", "again", "wrong"))
    first, second = right.record.launches
    assert right.record.exit_code == 0 and "emulated MI300X" in right.record.machine["device_name"]
    assert {state.buffer for state in first.buffers if state.changed} == {"#1", "calls"}
    # A structure's pointers are found by the sizes in the code object.
    assert [(one.argument, one.offset, one.buffer) for one in second.arguments] == [(0, 0, "#1"), (0, 8, "#2")]
    (out,) = (state for state in second.buffers if state.changed)
    values = struct.unpack("<128f", right.content(out.after))
    assert values[0] == 2.0 * sum(range(32)) and values[127] == 2.0 * sum(range(96, 128))
    assert compare_records(right, again).ok
    result = compare_records(right, wrong)
    assert [(one.kernel, one.status) for one in result.launches] == [("twice", "same"), ("sums", "differs")]
