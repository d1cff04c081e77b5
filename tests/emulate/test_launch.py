"""Kernels from Python on the emulated GPU: results, in-place updates, faults, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.emulate import launch as launching
from kernel_pytorch.emulate.device import EmulatedDevice, EmulatedKernelFault
from kernel_pytorch.emulate.launch import launch, load
from kernel_pytorch.emulate.run import RunSettings

numpy = pytest.importorskip("numpy")

SCALE = """__global__ void scale(float *x, int n, float by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
__global__ void total(const int *x, int *out, int n) {
  __shared__ int sums[64];
  int v = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) v += x[i];
  for (int o = warpSize / 2; o > 0; o >>= 1) v += __shfl_down(v, o);
  if (threadIdx.x % warpSize == 0) sums[threadIdx.x / warpSize] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    v = 0;
    for (int w = 0; w < blockDim.x / warpSize; ++w) v += sums[w];
    *out = v;
  }
}
__global__ void past_the_end(float *x) { x[threadIdx.x + 8] = 1; }
"""
ONE_LANE_AWAY = """__global__ void read(const TYPE *x, TYPE *out, int bad) {
  out[threadIdx.x] = x[threadIdx.x == 21 ? bad : threadIdx.x * 7 % 64];
}
__global__ void write(TYPE *x, int bad) {
  const int i = threadIdx.x;
  x[i == 21 ? bad : i * 7 % 64] = TYPE();
}
"""
SOURCE_LINE = next(n for n, line in enumerate(SCALE.splitlines(), 1) if "past_the_end" in line)


@pytest.fixture(params=["mi300x", "rx7900xtx"])
def device(request: pytest.FixtureRequest):  # type: ignore[no-untyped-def]
    with EmulatedDevice(request.param) as opened:
        yield opened


def test_arrays_are_updated_in_place(device: EmulatedDevice) -> None:
    x = numpy.arange(300, dtype=numpy.float32)
    events = load(device, SCALE, "scale").launch(2, 256, x, 290, 3.0)
    expected = numpy.arange(300, dtype=numpy.float32)
    expected[:290] *= 3
    assert (x == expected).all()
    assert [one.grid for one in events.launches] == [(2, 1, 1)]
    values = numpy.arange(1000, dtype=numpy.int32)
    out = numpy.zeros(1, dtype=numpy.int32)
    load(device, SCALE, "total").launch(1, 256, values, out, 1000)
    assert out[0] == values.sum()


def test_one_text_is_compiled_once(device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    load(device, SCALE, "scale")
    monkeypatch.setattr(launching, "build_device_code_text", lambda text, *_: pytest.fail(f"compiled again: {text}"))
    x = numpy.ones(4, dtype=numpy.float32)
    load(device, SCALE, "scale").launch(1, 64, x, 4, 3.0)
    assert (x == 3).all()
    with pytest.raises(pytest.fail.Exception):  # what a file says may have changed
        load(device, f'#include "by.h"\n{SCALE}', "scale")


def test_tensors_of_types_numpy_does_not_have(device: EmulatedDevice) -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(64, dtype=torch.bfloat16)
    source = "__global__ void flip(unsigned short *x) { x[threadIdx.x] ^= 0x8000; }"
    load(device, source).launch(1, 64, x.view(torch.int16))
    assert torch.equal(x, -torch.arange(64, dtype=torch.bfloat16))


def test_a_fault_is_raised_with_its_place_and_the_device_goes_on(device: EmulatedDevice) -> None:
    x = numpy.zeros(8, dtype=numpy.float32)
    with pytest.raises(EmulatedKernelFault) as caught:
        load(device, SCALE, "past_the_end").launch(1, 32, x)
    (fault, *_) = caught.value.faults
    assert fault.kind == "bounds" and fault.line == SOURCE_LINE and "buffer" in fault.detail
    y = numpy.ones(4, dtype=numpy.float32)
    load(device, SCALE, "scale").launch(1, 64, y, 4, 2.0)
    assert (y == 2).all()


def test_lanes_are_counted_in_lds(device: EmulatedDevice) -> None:
    """ds_append and ds_consume: each wave adds its active lanes to one word and gets what was there."""
    source = """typedef __attribute__((address_space(3))) int lds_int;
    __global__ void k(int *out, int *ends) {
      __shared__ int up, down;
      if (threadIdx.x == 0) { up = 0; down = 1000; }
      __syncthreads();
      if (threadIdx.x % 4 != 1) {
        out[threadIdx.x] = __builtin_amdgcn_ds_append((lds_int *)&up);
        out[256 + threadIdx.x] = __builtin_amdgcn_ds_consume((lds_int *)&down);
      }
      __syncthreads();
      ends[0] = up; ends[1] = down;
    }"""
    out = numpy.full(512, -1, dtype=numpy.int32)
    ends = numpy.zeros(2, dtype=numpy.int32)
    load(device, source).launch(1, 256, out, ends)
    assert ends.tolist() == [192, 1000 - 192]
    active = numpy.arange(256) % 4 != 1
    counted = device.gpu.target.wave_size * 3 // 4
    assert sorted(set(out[:256][active].tolist())) == list(range(0, 192, counted))
    assert (out[256:][active] == 1000 - out[:256][active]).all()
    assert (out[:256][~active] == -1).all()


@pytest.mark.parametrize("gpu", ["mi300x", "rx7900xtx"])
def test_an_overrun_of_lds_ends_the_kernel_unless_buffers_are_whole_pages(gpu: str) -> None:
    """rocPRIM's block reduction reads past the end in lanes whose sum nobody wants."""
    source = """__global__ void k(int *out, int step) {
      __shared__ int s[64];
      s[threadIdx.x * step] = threadIdx.x + 1;
      __syncthreads();
      out[threadIdx.x] = s[threadIdx.x * step];
    }"""
    out = numpy.full(64, -1, dtype=numpy.int32)
    with EmulatedDevice(gpu, RunSettings(whole_pages=True)) as device:
        load(device, source).launch(1, 64, out, 4)
    assert out.tolist() == [*range(1, 17), *([0] * 48)]
    with pytest.raises(EmulatedKernelFault, match="LDS"), EmulatedDevice(gpu) as device:
        load(device, source).launch(1, 64, out, 4)


def test_a_race_is_found_when_asked_for() -> None:
    source = """__global__ void k(int *out) {
      __shared__ int s[64];
      s[threadIdx.x % 64] = threadIdx.x;
      out[threadIdx.x] = s[(threadIdx.x + 1) % 64];
    }"""
    out = numpy.zeros(128, dtype=numpy.int32)
    events = launch(source, 1, 128, out, settings=RunSettings(races=True))
    assert {fault.kind for fault in events.faults} == {"race"}
    assert {fault.line for fault in events.faults} <= {3, 4}


@pytest.mark.parametrize("gpu", ["mi300x", "rx7900xtx"])
def test_the_first_load_of_a_compare_and_swap_loop_is_no_race(gpu: str) -> None:
    """A float atomic at system scope is such a loop; a plain read beside the atomics of other blocks stays a race."""
    source = """__global__ void sum(float *out, float *seen) { atomicAdd_system(&out[threadIdx.x % 4], 1.0f); }
    __global__ void peek(float *out, float *seen) {
      seen[blockIdx.x * 64 + threadIdx.x] = out[(threadIdx.x + 1) % 4];
      atomicAdd_system(&out[threadIdx.x % 4], 1.0f);
    }"""
    for kernel, kinds in (("sum", set()), ("peek", {"race"})):
        out, seen = numpy.zeros(4, dtype=numpy.float32), numpy.zeros(128, dtype=numpy.float32)
        with EmulatedDevice(gpu, RunSettings(races=True)) as device:
            events = load(device, source, kernel).launch(2, 64, out, seen)
        assert out.tolist() == [32.0] * 4
        assert {fault.kind for fault in events.faults} == kinds


def test_what_cannot_be_right_is_refused(device: EmulatedDevice, tmp_path: Path) -> None:
    x = numpy.zeros(4, dtype=numpy.float32)
    kernel = load(device, SCALE, "scale")
    with pytest.raises(TypeError, match="takes 3 arguments"):
        kernel.launch(1, 64, x)
    with pytest.raises(TypeError, match="expected an array, got int"):
        kernel.launch(1, 64, 5, 4, 1.0)
    with pytest.raises(TypeError, match="contiguous"):
        kernel.launch(1, 64, numpy.zeros(8, dtype=numpy.float32)[::2], 4, 1.0)
    with pytest.raises(ValueError, match="positive"):
        kernel.launch(0, 64, x, 4, 1.0)
    with pytest.raises(UsageError, match="scale"):
        load(device, SCALE)
    with pytest.raises(UsageError, match="is not a kernel"):
        load(device, 3)


def test_code_for_another_gpu_is_refused() -> None:
    from kernel_pytorch.toolchain.find import find_toolchain
    from kernel_pytorch.toolchain.program import build_device_code_text

    code = build_device_code_text(f"#include <hip/hip_runtime.h>\n{SCALE}", "gfx1100", find_toolchain())
    with EmulatedDevice("mi300x") as device, pytest.raises(UsageError, match="is for gfx1100"):
        load(device, code, "scale")


def test_nvidia_is_not_emulated() -> None:
    with pytest.raises(UsageError, match="not an AMD GPU"):
        EmulatedDevice("h100")


@pytest.mark.parametrize("kind", ["float", "float2", "float4"])
def test_one_lane_outside_is_named_where_addresses_lie_apart(device: EmulatedDevice, kind: str) -> None:
    source = ONE_LANE_AWAY.replace("TYPE", kind)
    x, out = numpy.zeros(256, dtype=numpy.float32), numpy.zeros(256, dtype=numpy.float32)
    for name, arguments in (("read", (x, out)), ("write", (x,))):
        load(device, source, name).launch(1, 64, *arguments, 20)
        with pytest.raises(EmulatedKernelFault) as caught:
            load(device, source, name).launch(1, 64, *arguments, 1 << 20)
        (fault, *_) = caught.value.faults
        assert (fault.kind, fault.lane, fault.line) == ("bounds", 21, 2 if name == "read" else 6)
