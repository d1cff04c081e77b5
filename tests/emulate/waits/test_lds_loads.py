"""Loads straight into LDS, used before their wait: found in a run, since only that knows which bytes are meant."""

from __future__ import annotations

import re

import pytest

from kernel_pytorch.emulate.launch import launch
from kernel_pytorch.emulate.run import RunSettings
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.toolchain.program import DeviceCode, build_device_code_text
from kernel_pytorch.toolchain.stages import assemble_device

# Two buffers: one is filled while the other is read, so that barriers are passed with loads under way.
KERNEL = """#include <hip/hip_runtime.h>
typedef __attribute__((address_space(3))) void *InLds;
typedef __attribute__((address_space(1))) void *InMemory;
__global__ void two_buffers(float *out, const float *in, int n) {
  __shared__ float t[2][128];
  int i = threadIdx.x, first = i / 64 * 64;
  float sum = 0;
  __builtin_amdgcn_global_load_lds((InMemory)(in + i), (InLds)&t[0][first], 4, 0, 0);
  for (int k = 0; k < n; k++) {
    if (k + 1 < n) {
      __builtin_amdgcn_global_load_lds((InMemory)(in + 128 * (k + 1) + i), (InLds)&t[(k + 1) & 1][first], 4, 0, 0);
      asm volatile("s_waitcnt vmcnt(1)");
    } else {
      asm volatile("s_waitcnt vmcnt(0)");
    }
    __builtin_amdgcn_s_barrier();
    sum += t[k & 1][MIRROR];
    __builtin_amdgcn_s_barrier();
  }
  out[i] = sum;
}
"""
ROUNDS = 3


def found(mirror: str, change: tuple[str, str] | None) -> list[str]:
    """What a run on two waves says, with one piece of the assembly replaced. The values are right all the same."""
    numpy = pytest.importorskip("numpy")
    toolchain = find_toolchain()
    code = build_device_code_text(KERNEL.replace("MIRROR", mirror), "gfx942", toolchain)
    if change is not None:
        text, times = re.subn(*change, code.assembly)
        assert times == 1
        code = DeviceCode(code.source, "gfx942", text, assemble_device(text, "gfx942", toolchain))
    given = numpy.arange(128 * ROUNDS, dtype=numpy.float32)
    out = numpy.zeros(128, numpy.float32)
    events = launch(code, 1, 128, out, given, ROUNDS, gpu="mi300x", settings=RunSettings(waits=True))
    wanted = given.reshape(ROUNDS, 128).sum(0)
    assert (out == (wanted[::-1] if mirror == "127 - i" else wanted)).all()
    assert {fault.kind for fault in events.faults} <= {"wait"}
    return [fault.detail for fault in events.faults]


def test_two_buffers_with_their_waits_give_no_finding() -> None:
    assert found("127 - i", None) == []


def test_another_wave_reads_what_was_under_way_at_the_barrier() -> None:
    late = found("127 - i", (r"s_waitcnt vmcnt\(1\)", "s_nop 0"))
    assert late and all("in that wave, in front of the barrier" in one for one in late)
    assert "global_load_lds_dword" in late[0]


def test_a_wave_reads_what_it_loads_itself() -> None:
    late = found("i", (r"s_waitcnt vmcnt\(0\)", "s_nop 0"))
    assert late and all("a wait for vmcnt(0) is missing between the two" in one for one in late)
    # One load more may be under way than the code is sure of.
    late = found("i", (r"s_waitcnt vmcnt\(1\)", "s_waitcnt vmcnt(2)"))
    assert late and all("a wait for vmcnt(1) is missing" in one for one in late)
