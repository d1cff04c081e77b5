"""cp.async and memcpy_async that load into LDS directly: right where lanes lie side by side, and where they do not."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.assembly.compiler_text import read_compiler_text
from kernel_pytorch.emulate.codegen.flow import lay_out
from kernel_pytorch.emulate.device import EmulatedDevice
from kernel_pytorch.emulate.isa.table import find
from kernel_pytorch.emulate.launch import device_code
from kernel_pytorch.emulate.waits.missing import missing_waits, steps_of
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file

Array = np.ndarray[Any, Any]
THREADS = 128
# Destinations of the copies as a function of the thread: side by side, in another order, with gaps, backwards.
PLACES = (lambda i: i, lambda i: i ^ (i >> 3 & 7), lambda i: i + i // 8, lambda i: 127 - i)
# Which threads copy: all, some of a wave, one warp of each wave, all but a low one, none.
WHO = (lambda i: True, lambda i: i > 4, lambda i: i // 32 % 2 == 1, lambda i: i != 3, lambda i: False)
COPY = """
extern "C" __global__ void {name}(const unsigned* in, unsigned* out, int size, int kind, int who) {{
  __shared__ unsigned held[{words} * 256];
  const int i = threadIdx.x;
  const int place = kind == 0 ? i : kind == 1 ? i ^ (i >> 3 & 7) : kind == 2 ? i + i / 8 : 127 - i;
  for (int at = i; at < {words} * 256; at += {threads}) held[at] = 7;
  __syncthreads();
  if (who == 0 || (who == 1 && i > 4) || (who == 2 && i / 32 % 2) || (who == 3 && i != 3)) {{
    unsigned to = (unsigned)__cvta_generic_to_shared(held + {words} * place);
    asm volatile("cp.async.{cache}.shared.global [%0], [%1], {bytes}{operand};"
                 :: "r"(to), "l"(in + {words} * i){size});
  }}
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 1;");
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
  for (int at = i; at < {words} * 256; at += {threads}) out[at] = held[at];
}}
"""
GROUPS = """
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
extern "C" __global__ void block(const uint4* in, uint4* out) {
  __shared__ uint4 held[2][256];
  auto group = cg::this_thread_block();
  cg::memcpy_async(group, held[0], in, sizeof(uint4) * 256);
  cg::memcpy_async(group, held[1], in + 256, sizeof(uint4) * 256);
  cg::wait_prior<1>(group);
  for (int at = threadIdx.x; at < 256; at += 128) out[at] = held[0][at ^ 77];
  cg::wait(group);
  for (int at = threadIdx.x; at < 256; at += 128) out[256 + at] = held[1][at ^ 77];
}
extern "C" __global__ void tiles(const uint4* in, uint4* out) {
  __shared__ uint4 held[512];
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  auto pipe = cuda::make_pipeline();
  const int first = 128 * (threadIdx.x / 32);
  pipe.producer_acquire();
  cuda::memcpy_async(tile, held + first, in + first, cuda::aligned_size_t<16>(sizeof(uint4) * 128), pipe);
  pipe.producer_commit();
  pipe.consumer_wait();
  __syncthreads();
  for (int at = threadIdx.x; at < 512; at += 128) out[at] = held[at ^ 77];
  pipe.consumer_release();
}
"""


def ported(source: str) -> str:
    return hipify_file(cxx_file("a.cu", source.encode()), None, HipifyOptions()).after.decode()


def one_kernel(name: str, words: int, fills: bool) -> str:
    return COPY.format(
        name=name, words=words, threads=THREADS, bytes=4 * words, cache="cg" if words == 4 else "ca",
        operand=", %2" if fills else "", size=', "r"(i % 9 == 5 ? size / 2 : size)' if fills else "",
    )  # fmt: skip


def expected(kind: int, who: int, fills: bool, data: Array) -> Array:
    held = np.full((256, data.shape[1]), 7, np.uint32)
    for i in filter(WHO[who], range(THREADS)):
        row = data[i].copy()
        if fills and i % 9 == 5:
            row.view(np.uint8)[2 * len(row) :] = 0
        held[PLACES[kind](i)] = row
    return held


@pytest.mark.parametrize("gpu", ["mi355x", pytest.param("mi300x", marks=pytest.mark.slow)])
def test_copies_of_one_thread(gpu: str) -> None:
    made = {f"k{words}{fills:d}": (words, fills) for words in (1, 4) for fills in (False, True)}
    text = "#define KPT_COPY_INTO_LDS\n" + ported("\n".join(one_kernel(name, *one) for name, one in made.items()))
    code = device_code(text, gpu)
    found = set(re.findall(r"\bglobal_load_lds_\w+", code.assembly))
    wide = {"global_load_lds_dwordx4"} if gpu == "mi355x" else set()
    assert found == {"global_load_lds_dword"} | wide
    data = np.random.default_rng(0).integers(0, 1 << 32, (THREADS, 4), dtype=np.uint32)
    with EmulatedDevice(gpu) as device:
        for name, (words, fills) in made.items():
            rows = np.ascontiguousarray(data[:, :words])
            kernel = device.load(code.code_object, name, code.assembly)
            for kind in range(len(PLACES)):
                for who in range(len(WHO)):
                    out = np.zeros((256, words), np.uint32)
                    kernel.launch(1, THREADS, rows, out, np.int32(4 * words), np.int32(kind), np.int32(who))
                    assert (out == expected(kind, who, fills, rows)).all(), (name, kind, who)


def unfinished_at_barriers(text: str, gpu: str) -> list[str]:
    """The loads into LDS that may be under way at a barrier or where the kernel's registers are used, on any path."""
    code = device_code(text, gpu)
    target = gpu_by_alias(gpu).target.name
    found = []
    for function in read_compiler_text(code.assembly).functions.values():
        flow = lay_out((function,), {function.name: 0})
        parts = [[(one, row)] for one in flow.instructions if (row := find(one.mnemonic, target)) is not None]
        assert len(parts) == len(flow.instructions)
        steps = [
            replace(step, writes_lds=step.writes_lds or "load_lds" in one.mnemonic)
            for one, step in zip(flow.instructions, steps_of(parts, 9, 64), strict=True)
        ]
        assert any("load_lds" in one.mnemonic for one in flow.instructions)
        found += [f"{function.name}: {flow.instructions[one.access].text}" for one in missing_waits(flow, steps)]
    return found


@pytest.mark.parametrize("gpu", ["mi355x", pytest.param("mi300x", marks=pytest.mark.slow)])
def test_every_load_into_lds_is_waited_for_before_the_barrier(gpu: str) -> None:
    kernels = [one_kernel("a", 1, False), one_kernel("b", 1, True)]
    kernels += [one_kernel("c", 4, False), one_kernel("d", 4, True)] if gpu == "mi355x" else []
    source = "\n".join(kernels)
    assert unfinished_at_barriers("#define KPT_COPY_INTO_LDS\n" + ported(source), gpu) == []
    # The check itself must be able to fail: without the waits of the source there is none in the port either.
    without = re.sub(r"asm volatile\(\"cp\.async\.wait_group \d;\"\);", "", source)
    text = ported(without).replace("__syncthreads()", "__builtin_amdgcn_s_barrier()")
    assert len(unfinished_at_barriers("#define KPT_COPY_INTO_LDS\n" + text, gpu)) >= len(kernels)


def test_copies_of_groups_are_waited_for_before_the_barrier() -> None:
    assert unfinished_at_barriers(ported(GROUPS), "mi355x") == []


def test_without_the_macro_copies_of_one_thread_go_through_registers() -> None:
    assert "load_lds" not in device_code(ported(one_kernel("k", 4, False)), "mi355x").assembly


@pytest.mark.parametrize("gpu", ["mi355x", pytest.param("rx7900xtx", marks=pytest.mark.slow)])
def test_copies_of_groups(gpu: str) -> None:
    code = device_code(ported(GROUPS), gpu)
    assert ("global_load_lds_dwordx4" in code.assembly) == (gpu == "mi355x")
    data = np.random.default_rng(1).integers(0, 1 << 32, (512, 4), dtype=np.uint32)
    with EmulatedDevice(gpu) as device:
        for name in ("block", "tiles"):
            out = np.zeros_like(data)
            device.load(code.code_object, name, code.assembly).launch(1, THREADS, data, out)
            assert (out == data[np.arange(512) ^ 77]).all(), name
