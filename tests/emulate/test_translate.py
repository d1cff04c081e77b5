"""Whole kernels: compiled by the real compiler for both widths, translated and run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.emulate.codegen.emission import TranslationError
from kernel_pytorch.emulate.host_compiler import find_host_compiler
from kernel_pytorch.emulate.translate import (
    build_flags,
    keep_assembly,
    main,
    module_name,
    table_version,
    translate,
    translate_module,
    translate_to_c,
)
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.toolchain.program import DeviceCode, build_device_code_text
from tests.emulate.wave_launcher import Loaded

SOURCE = r"""
#include <hip/hip_runtime.h>
__device__ int table[4] = {3, 1, 4, 1};
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ float neighbour(float x) {
  __shared__ float s[64]; s[threadIdx.x] = x; __syncthreads(); return s[(threadIdx.x + 1) % 64];
}
__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void reduce(int n, const float* x, float* out) {
  __shared__ float s[256]; int t = threadIdx.x, i = blockIdx.x * 256 + t; s[t] = i < n ? x[i] : 0.f; __syncthreads();
  for (int d = 128; d > 0; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void shuffle(const float* x, float* out) {
  float v = x[blockIdx.x * 64 + threadIdx.x];
  for (int d = warpSize / 2; d > 0; d >>= 1) v += __shfl_xor(v, d);
  out[threadIdx.x] = v;
}
__global__ void histogram(const unsigned char* in, unsigned* h, int n) {
  __shared__ unsigned s[256]; s[threadIdx.x] = 0; __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&s[in[i]], 1u);
  __syncthreads(); atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}
__global__ void calls(int* out) { out[threadIdx.x] = fib(threadIdx.x % 10); }
__global__ void barrier_in_call(float* out) { out[threadIdx.x] = neighbour((float)threadIdx.x); }
__global__ void choose(int* out) {
  int r; switch (threadIdx.x % 7) { case 0: r = 17; break; case 1: r = 5; break; case 2: r = 99; break;
    case 3: r = 1234; break; case 4: r = -7; break; case 5: r = 55; break; default: r = 0; }
  out[threadIdx.x] = r;
}
__global__ void in_scratch(int* out, int k) {
  int a[64]; for (int i = 0; i < 64; i++) a[(i * 7 + threadIdx.x) & 63] = i;
  int s = 0; for (int i = 0; i < k; i++) s = s * 3 + a[(i + threadIdx.x * k) & 63]; out[threadIdx.x] = s;
}
__global__ void divide(const float* x, float* out) { out[threadIdx.x] = 1.0f / x[threadIdx.x] + sqrtf(x[threadIdx.x]); }
__global__ void forever(volatile int* flag) { while (*flag == 0) {} }
__global__ void beyond(int k) { extern __shared__ int s[]; s[threadIdx.x + k] = 1; __syncthreads(); }
__global__ void stop_here(int* p) { if (p[0] == 3) __builtin_trap(); p[1] = 8; }
"""
TARGETS = ("gfx942", "gfx1100")


@pytest.fixture(scope="module", params=TARGETS)
def device(request: pytest.FixtureRequest) -> DeviceCode:
    return build_device_code_text(SOURCE, request.param, find_toolchain())


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("modules")


@pytest.fixture(scope="module")
def module(device: DeviceCode, cache: Path) -> Loaded:
    return Loaded(translate_module(device.code_object, device.assembly, "plain", cache))


@pytest.fixture(scope="module")
def gfx942() -> DeviceCode:
    return build_device_code_text(SOURCE, "gfx942", find_toolchain())


@pytest.fixture(scope="module")
def checked(gfx942: DeviceCode, cache: Path) -> Loaded:
    return Loaded(translate_module(gfx942.code_object, gfx942.assembly, "checked-counted", cache))


def test_flat_loop_with_a_tail(module: Loaded) -> None:
    x, y = np.arange(1000, dtype=np.float32), np.ones(1024, np.float32)
    module.launch("saxpy", 4, 256, np.int32(1000), np.float32(2), x, y)
    assert (y[:1000] == 2 * x + 1).all()
    assert (y[1000:] == 1).all()


def test_a_quick_build_has_a_prelude_that_is_precompiled_when_wanted_again(gfx942: DeviceCode, tmp_path: Path) -> None:
    symbol = next(name for name in translate_to_c(gfx942.code_object, gfx942.assembly).kernels if "saxpy" in name)
    is_gcc = find_host_compiler().kind == "gcc"
    assert build_flags("checked-quick-waits") == {"checked", "quick", "waits"}
    for number in (1, 2):
        made = tmp_path / f"{number}.so"
        found = translate(gfx942.code_object, made, gfx942.assembly, frozenset({"quick"}), only=symbol)
        assert [file.optimization for file in found.files] == ["-O0", "-O1"]
        assert len(list(tmp_path.glob("prelude-*.h.gch"))) == (number == 2 and is_gcc)
        x, y = np.arange(100, dtype=np.float32), np.ones(128, np.float32)
        Loaded(made).launch("saxpy", 2, 64, np.int32(100), np.float32(2), x, y)
        assert (y[:100] == 2 * x + 1).all() and (y[100:] == 1).all()


def test_reduction_with_barriers(module: Loaded) -> None:
    x, out = np.random.default_rng(1).integers(0, 9, 1000).astype(np.float32), np.zeros(4, np.float32)
    watched = module.launch("reduce", 4, 256, np.int32(1000), x, out)
    padded = np.concatenate([x, np.zeros(24, np.float32)])
    assert (out == padded.reshape(4, 256).sum(axis=1)).all()
    assert not watched.faults


def test_shuffles_follow_the_width_of_the_wave(module: Loaded) -> None:
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    module.launch("shuffle", 1, 64, x, out)
    width = module.kernel("shuffle").wave_size
    assert (out == np.repeat(x.reshape(-1, width).sum(axis=1), width)).all()


def test_atomics(module: Loaded) -> None:
    data = np.random.default_rng(2).integers(0, 256, 5000).astype(np.uint8)
    found = np.zeros(256, np.uint32)
    module.launch("histogram", 3, 256, data, found, np.int32(5000))
    assert (found == np.bincount(data, minlength=256)).all()


def test_recursive_calls(module: Loaded) -> None:
    out = np.zeros(64, np.int32)
    module.launch("calls", 1, 64, out)
    assert out.tolist() == [[0, 1, 1, 2, 3, 5, 8, 13, 21, 34][lane % 10] for lane in range(64)]


def test_a_barrier_inside_a_call(module: Loaded) -> None:
    out = np.zeros(64, np.float32)
    module.launch("barrier_in_call", 1, 64, out)
    assert (out == (np.arange(64) + 1) % 64).all()


def test_constant_tables_and_private_memory(module: Loaded) -> None:
    out = np.zeros(64, np.int32)
    module.launch("choose", 1, 64, out)
    assert out.tolist() == [[17, 5, 99, 1234, -7, 55, 0][lane % 7] for lane in range(64)]
    module.launch("in_scratch", 1, 64, out, np.int32(20))
    for lane in range(64):
        a = [0] * 64
        for i in range(64):
            a[(i * 7 + lane) & 63] = i
        total = 0
        for i in range(20):
            total = (total * 3 + a[(i + lane * 20) & 63]) & 0xFFFFFFFF
        assert int(out[lane]) & 0xFFFFFFFF == total


def test_division_and_roots_round_once(module: Loaded) -> None:
    x = np.random.default_rng(3).uniform(1e-3, 1e3, 64).astype(np.float32)
    out = np.zeros(64, np.float32)
    module.launch("divide", 1, 64, x, out)
    assert (out == np.float32(1) / x + np.sqrt(x)).all()


def test_a_loop_without_end_yields(module: Loaded) -> None:
    with pytest.raises(TimeoutError):
        module.launch("forever", 1, 64, np.zeros(1, np.int32), budget=1000, most_yields=5)


def test_lds_beyond_its_size_is_a_fault(module: Loaded) -> None:
    watched = module.launch("beyond", 1, 64, np.int32(0), dynamic_lds=256)
    assert not watched.faults
    watched = module.launch("beyond", 1, 64, np.int32(1), dynamic_lds=256)
    assert [(kind, size) for kind, _, _, size, _ in watched.faults] == [(2, 4)]
    assert watched.faults[0][4].startswith("ds_")


def test_a_trap_is_a_fault(module: Loaded) -> None:
    values = np.array([3, 0], np.int32)
    watched = module.launch("stop_here", 1, 64, values)
    assert watched.faults and watched.faults[0][0] == 1
    assert values[1] == 0


def test_checked_builds_show_every_access(checked: Loaded) -> None:
    x, y = np.arange(100, dtype=np.float32), np.ones(128, np.float32)
    watched = checked.launch("saxpy", 1, 128, np.int32(100), np.float32(2), x, y)
    assert (y[:100] == 2 * x + 1).all()
    vector = [one for one in watched.accesses if one[1] == 4 and one[2] & 2]
    assert len(vector) == 100, "one store for each lane that is on"
    watched = checked.launch("reduce", 1, 256, np.int32(100), x, np.zeros(1, np.float32))
    assert any(flags & 8 for _, _, flags in watched.accesses), "LDS accesses are marked"


def test_counted_builds_count(checked: Loaded) -> None:
    x, y = np.zeros(1024 + 16, np.float32), np.zeros(1024 + 16, np.float32)
    x = x[-x.ctypes.data % 64 // 4 :][:1024]
    y = y[-y.ctypes.data % 64 // 4 :][:1024]
    counters = checked.launch("saxpy", 4, 256, np.int32(1024), np.float32(2), x, y).counters
    assert counters.global_bytes_read == 8192
    assert counters.global_bytes_written == 4096
    assert counters.lines_touched == counters.lines_ideal == 12288 // 64
    assert counters.active_lanes == counters.possible_lanes > 0
    assert counters.vector_memory == 3 * 16
    half = checked.launch("saxpy", 1, 32, np.int32(32), np.float32(2), x, y).counters
    assert half.active_lanes * 2 == half.possible_lanes


def test_the_disassembly_gives_the_same_module(gfx942: DeviceCode, cache: Path, tmp_path: Path) -> None:
    translate(gfx942.code_object, tmp_path / "dumped.so")
    dumped = Loaded(tmp_path / "dumped.so")
    out = np.zeros(64, np.int32)
    dumped.launch("calls", 1, 64, out)
    assert out[9] == 34
    found = np.zeros(64, np.float32)
    dumped.launch("barrier_in_call", 1, 64, found)
    assert found[0] == 1


def test_source_lines_reach_the_places(gfx942: DeviceCode) -> None:
    text = "".join(file.text for file in translate_to_c(gfx942.code_object, gfx942.assembly).files)
    assert "kernel.hip" in text


def test_the_cache_finds_what_it_has(device: DeviceCode, cache: Path, module: Loaded) -> None:
    path = cache / module_name(device.code_object, device.target)
    before = path.stat().st_mtime_ns
    assert translate_module(device.code_object, None, "plain", cache) == path
    assert path.stat().st_mtime_ns == before
    assert len(table_version()) == 16


@pytest.fixture
def two_files(gfx942: DeviceCode, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    source = tmp_path / "k.hsaco"
    source.write_bytes(gfx942.code_object)
    keep_assembly(gfx942.code_object, gfx942.assembly, tmp_path)
    yield source, tmp_path / "out.so"


def test_two_processes_at_once(two_files: tuple[Path, Path]) -> None:
    source, out = two_files
    command = [sys.executable, "-m", "kernel_pytorch.emulate.translate", str(source), str(out), "plain"]
    running = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(timeout=300) for process in running] == [0, 0]
    assert Loaded(out).module.kernel_count == 12
    assert not list(out.parent.glob("*.tmp"))


def test_bad_input_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], gfx942: DeviceCode) -> None:
    broken = tmp_path / "broken.hsaco"
    broken.write_bytes(gfx942.code_object[: len(gfx942.code_object) // 2])
    assert main([str(broken), str(tmp_path / "x.so"), "plain"]) == 2
    assert str(broken) in capsys.readouterr().err
    assert main([str(broken)]) == 2
    with pytest.raises(UsageError, match="fast"):
        build_flags("fast")
    assert build_flags("checked-counted") == {"checked", "counted"}
    assert build_flags("races,shuffle-blocks") == {"checked"}


def test_an_unknown_instruction_names_itself_and_the_kernel(gfx942: DeviceCode) -> None:
    strange = gfx942.assembly.replace("v_fmac_f32_e32", "v_frobnicate_f32_e32")
    with pytest.raises(TranslationError, match=r"saxpy.*v_frobnicate_f32 is not in the table for gfx942"):
        translate_to_c(gfx942.code_object, strange)
    left = translate_to_c(gfx942.code_object, strange, strict=False)
    assert [name for name, _ in left.refused if "saxpy" in name]
    assert any("reduce" in name for name in left.kernels)
