"""Missing waits: each rule of each family by itself, then code of the compiler with one wait deleted."""

from __future__ import annotations

import pytest

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.assembly.instruction import Function
from kernel_pytorch.emulate.assembly.instruction_text import parse_instruction
from kernel_pytorch.emulate.codegen.flow import Flow, lay_out
from kernel_pytorch.emulate.codegen.module import Remark
from kernel_pytorch.emulate.launch import launch
from kernel_pytorch.emulate.run import RunSettings
from kernel_pytorch.emulate.translate import translate_to_c
from kernel_pytorch.emulate.waits.remarks import missing_wait_remarks
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.toolchain.program import DeviceCode, build_device_code_text
from kernel_pytorch.toolchain.stages import assemble_device

KERNEL = """#include <hip/hip_runtime.h>
__global__ void turned(float *x, const float *y, int n) {
  __shared__ float t[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  t[threadIdx.x] = y[i];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < n; k++) sum += t[(255 - threadIdx.x + k) % 256] * y[(i * 7 + k) % n];
  x[i] = sum;
}
"""


def flow_of(text: str) -> Flow:
    """A function of these lines; `name:` is a label."""
    instructions, labels = [], {"kernel": 0}
    for line in text.strip().splitlines():
        if line.strip().endswith(":"):
            labels[line.strip()[:-1]] = len(instructions)
        else:
            instructions.append(parse_instruction(line.strip()))
    return lay_out((Function("kernel", tuple(instructions), labels),), {"kernel": 0})


def found(text: str, target: str) -> tuple[Remark, ...]:
    return missing_wait_remarks(flow_of(text), target, 64 if target.startswith("gfx9") else 32)


def waits(counter: str, count: int, target: str) -> str:
    """One wait in the spelling of the target; counters by their old names."""
    if target.startswith("gfx12"):
        new = {"vmcnt": "loadcnt", "lds": "dscnt", "scalar": "kmcnt"}[counter]
        return f"s_wait_{new} {count:#x}"
    return f"s_waitcnt {'vmcnt' if counter == 'vmcnt' else 'lgkmcnt'}({count})"


ALL = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201")


@pytest.mark.parametrize("target", ALL)
def test_vector_loads_return_in_order(target: str) -> None:
    load = "global_load_dword" if target < "gfx11" or target.startswith("gfx9") else "global_load_b32"
    loads = f"{load} v1, v0, s[0:1]\n{load} v2, v0, s[0:1] offset:4\n"
    code = loads + "{wait}\nv_add_f32_e32 v3, {used}, {used}\ns_endpgm"
    assert not found(code.format(wait=waits("vmcnt", 0, target), used="v2"), target)
    assert not found(code.format(wait=waits("vmcnt", 1, target), used="v1"), target)
    late = found(code.format(wait=waits("vmcnt", 1, target), used="v2"), target)
    assert len(late) == 1 and "v2 is read" in late[0].detail and load in late[0].detail
    assert found(code.format(wait=waits("lds", 0, target), used="v1"), target)


@pytest.mark.parametrize("target", ALL)
def test_scalar_loads_return_in_any_order(target: str) -> None:
    load = "s_load_dword" if target < "gfx11" or target.startswith("gfx9") else "s_load_b32"
    code = f"{load} s4, s[0:1], 0x0\n{load} s5, s[0:1], 0x4\n{{}}\ns_add_i32 s6, s4, 1\ns_endpgm"
    assert not found(code.format(waits("scalar", 0, target)), target)
    assert "s4 is read" in found(code.format(waits("scalar", 1, target)), target)[0].detail


@pytest.mark.parametrize("target", ALL)
def test_lds_is_in_order_whatever_scalar_loads_are_under_way(target: str) -> None:
    new = target >= "gfx11" and not target.startswith("gfx9")
    read, load = ("ds_load_b32", "s_load_b32") if new else ("ds_read_b32", "s_load_dword")
    code = f"{read} v1, v0\n{read} v2, v0 offset:4\n{load} s4, s[0:1], 0x0\n{{}}\nv_mov_b32_e32 v3, {{}}\ns_endpgm"
    assert not found(code.format(waits("lds", 1, target), "v1"), target)
    assert found(code.format(waits("lds", 1, target), "v2"), target)


def test_transposing_reads_of_lds_count_too() -> None:
    code = "ds_read_b128 v[4:7], v0\nds_read_b64_tr_b16 v[8:9], v0\n{}\nv_mov_b32_e32 v1, {}\ns_endpgm"
    assert not found(code.format("s_waitcnt lgkmcnt(1)", "v4"), "gfx950")
    assert "v8 is read" in found(code.format("s_waitcnt lgkmcnt(1)", "v8"), "gfx950")[0].detail


def test_a_flat_load_counts_twice_and_on_gfx9_in_any_order() -> None:
    code = "flat_load_dword v1, v[2:3]\nglobal_load_dword v4, v0, s[0:1]\n{}\nv_mov_b32_e32 v5, v1\ns_endpgm"
    assert not found(code.format("s_waitcnt vmcnt(0) lgkmcnt(0)"), "gfx942")
    assert found(code.format("s_waitcnt vmcnt(1) lgkmcnt(0)"), "gfx942")
    assert found(code.format("s_waitcnt vmcnt(0)"), "gfx942")
    assert not found(code.format("s_waitcnt vmcnt(1) lgkmcnt(0)"), "gfx1030")
    assert found(code.format("s_waitcnt vmcnt(1)"), "gfx1030")


def test_stores_count_with_loads_on_gfx9_and_apart_later() -> None:
    both = "global_load_dword v1, v0, s[0:1]\nglobal_store_dword v0, v2, s[0:1]\n"
    code = both + "s_waitcnt vmcnt({})\nv_mov_b32_e32 v3, v1\ns_endpgm"
    assert not found(code.format(1), "gfx90a")
    assert found(code.format(1), "gfx1030")
    assert not found(code.format(0), "gfx1030")


def test_a_register_that_a_load_will_overwrite() -> None:
    code = "global_load_dword v1, v0, s[0:1]\n{}\ns_waitcnt vmcnt(0)\nv_mov_b32_e32 v3, v1\ns_endpgm"
    assert "the late value wins" in found(code.format("v_mov_b32_e32 v1, 0"), "gfx942")[0].detail
    # A second load of the same counter comes back after the first.
    assert not found(code.format("global_load_dword v1, v0, s[2:3]"), "gfx942")
    assert found(code.format("ds_read_b32 v1, v0"), "gfx942")
    # What a store reads it has read when it is issued.
    stored = "global_store_dword v0, v1, s[0:1]\nv_mov_b32_e32 v1, 0\ns_endpgm"
    assert not any(found(stored, target) for target in ("gfx942", "gfx1030"))


def test_lds_writes_are_waited_for_before_a_barrier() -> None:
    code = "ds_write_b32 v0, v1\n{}\ns_barrier\ns_endpgm"
    assert not found(code.format("s_waitcnt lgkmcnt(0)"), "gfx942")
    assert "barrier is passed" in found(code.format("s_nop 0"), "gfx942")[0].detail
    split = "ds_store_b32 v0, v1\n{}\ns_barrier_signal -1\ns_barrier_wait -1\ns_endpgm"
    assert not found(split.format("s_wait_dscnt 0x0"), "gfx1201")
    assert found(split.format("s_wait_loadcnt 0x0"), "gfx1201")


def test_numbers_and_pairs_of_counters() -> None:
    code = "ds_read_b32 v1, v0\nglobal_load_dword v2, v0, s[0:1]\ns_waitcnt {}\nv_add_u32_e32 v3, v1, v2\ns_endpgm"
    assert not found(code.format("0"), "gfx942")
    assert found(code.format("0xc07f"), "gfx942")  # lgkmcnt(0) only
    pair = "ds_load_b32 v1, v0\nglobal_load_b32 v2, v0, s[0:1]\n{}\nv_add_nc_u32_e32 v3, v1, v2\ns_endpgm"
    assert not found(pair.format("s_wait_loadcnt_dscnt 0x0"), "gfx1201")
    assert len(found(pair.format("s_wait_loadcnt_dscnt 0x101"), "gfx1201")) == 2


def test_the_path_goes_over_the_branch_that_leaves_the_wait_out() -> None:
    code = """
        global_load_dword v1, v0, s[0:1]
        s_cbranch_scc1 join
        s_waitcnt vmcnt(0)
        join:
        v_mov_b32_e32 v2, v1
        s_endpgm
    """
    (one,) = found(code, "gfx942")
    assert one.text == "v_mov_b32_e32 v2, v1"
    assert "s_cbranch_scc1 join   (taken)" in one.detail and "vmcnt(0) is missing" in one.detail


def test_a_load_of_the_last_round_of_a_loop() -> None:
    code = """
        s_mov_b32 s4, 0
        top:
        v_add_f32_e32 v2, v2, v1
        global_load_dword v1, v0, s[0:1]
        s_cbranch_scc1 top
        s_endpgm
    """
    (one,) = found(code, "gfx942")
    assert "v1 is read" in one.detail and "s_cbranch_scc1 top   (taken)" in one.detail


@pytest.mark.parametrize("gpu", ["mi300x", pytest.param("rx9070xt", marks=pytest.mark.slow)])
def test_a_wait_deleted_from_compiled_code_is_found_and_shown_by_a_run(gpu: str) -> None:
    numpy = pytest.importorskip("numpy")
    toolchain = find_toolchain()
    target = gpu_by_alias(gpu).target.name
    code = build_device_code_text(KERNEL, target, toolchain)
    flags = frozenset({"waits"})
    assert translate_to_c(code.code_object, code.assembly, flags).missing_waits == ()
    lines = code.assembly.splitlines(keepends=True)
    places = [at for at, line in enumerate(lines) if line.lstrip().startswith("s_wait")]
    caught = []
    for at in places:
        text = "".join(lines[:at] + lines[at + 1 :])
        if translate_to_c(code.code_object, text, flags).missing_waits:
            caught.append(text)
    assert len(caught) >= 3
    mutated = DeviceCode(code.source, target, caught[0], assemble_device(caught[0], target, toolchain))
    x, y = numpy.zeros(256, numpy.float32), numpy.ones(256, numpy.float32)
    events = launch(mutated, 1, 256, x, y, 8, gpu=gpu, settings=RunSettings(waits=True))
    assert {fault.kind for fault in events.faults} == {"wait"}
    assert events.faults[0].line > 0 and "is missing between the two" in events.faults[0].detail
    assert not launch(mutated, 1, 256, x, y, 8, gpu=gpu).faults
