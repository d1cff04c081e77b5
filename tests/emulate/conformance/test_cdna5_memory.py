"""Addresses of gfx1250: offsets with a sign, offsets that count elements, buffers of its own form, private memory."""

from __future__ import annotations

import random

import numpy as np
import pytest

from kernel_pytorch.emulate.codegen.emission import TranslationError

from .harness import Library, Start, differences, patterns
from .memory_programs import prepare
from .programs import Program

BASE = "s[40:41]"
LINES = [
    *(
        f"global_load_{kind} {result}, v2, {BASE}{offset}{scale}"
        for kind, result in (("u8", "v32"), ("i16", "v33"), ("b32", "v34"), ("b64", "v[36:37]"), ("b96", "v[36:38]"),
                             ("b128", "v[40:43]"))
        for offset, scale in (("", ""), (" offset:8", " scale_offset"))
    ),
    *(f"global_store_{kind} v2, {data}, {BASE} scale_offset" for kind, data in (("b16", "v8"), ("b64", "v[8:9]"))),
    f"global_atomic_add_u32 v34, v2, v8, {BASE} scale_offset th:TH_ATOMIC_RETURN",
    f"global_atomic_add_u64 v2, v[8:9], {BASE} scale_offset",
    "buffer_load_b32 v32, v3, s[56:59], null offen offset:16",
    "buffer_load_b64 v[32:33], v3, s[56:59], s44 offen",
    "buffer_load_u16 v34, off, s[56:59], s44",
    "buffer_store_b32 v8, v3, s[56:59], null offen",
    "buffer_atomic_add_u32 v8, v3, s[56:59], null offen",
]  # fmt: skip


def test_addresses_agree_with_the_model() -> None:
    programs = [Program(line.split()[0], "gfx1250", 32, [line]) for line in LINES]
    library = Library(programs)
    found: list[str] = []
    for index, program in enumerate(programs):
        rng = random.Random(program.lines[0])

        def fill(start: Start, program: Program = program, rng: random.Random = rng) -> None:
            prepare(start, program.name, 32, "gfx1250")
            base = start.memory.ctypes.data + 4096
            start.state[40], start.state[41] = base & 0xFFFFFFFF, base >> 32
            # Every lane another element, before the base and behind it.
            start.v[2] = np.array(rng.sample(range(-16, 16), 32), dtype=np.int32).view(np.uint32) * np.uint32(4)
            # Some lanes behind the end of the buffer.
            start.v[3] = np.array(rng.sample(range(0, 2048, 32), 32), dtype=np.uint32)

        for mask in patterns(program, rng)[:2]:
            found += differences(library, index, "", rng, mask, registers=48, prepare=fill)[:2]
    assert not found, f"{len(found)} differences:\n" + "\n".join(found[:40])


def test_scalar_loads_count_elements_too() -> None:
    programs = [
        Program("s_load", "gfx1250", 32, [line])
        for line in (
            f"s_load_b32 s64, {BASE}, s44 offset:0x8 scale_offset",
            f"s_load_b64 s[64:65], {BASE}, s44 scale_offset",
        )
    ]
    library = Library(programs)
    for index, size in enumerate((4, 8)):
        start = Start(programs[index], random.Random(index), 1, 0, 0xF0)
        prepare(start, "s_load", 32, "gfx1250")
        start.state[44] = 5
        library.run(index, start)
        at = 128 + 5 * size + (8 if size == 4 else 0)
        wanted = start.memory[at : at + size].view(np.uint32)
        assert start.state[64 : 64 + size // 4].tolist() == wanted.tolist()


def test_private_memory_of_another_lane_through_a_flat_address() -> None:
    """The compiler adds the lane, from bit 52 on, and the offset to where private memory begins."""
    lines = [
        "v_mov_b32_e32 v4, 12",
        "v_lshlrev_b32_e32 v5, 20, v6",
        "v_add_nc_u64_e32 v[4:5], src_flat_scratch_base_lo, v[4:5]",
        "flat_load_b32 v7, v[4:5]",
        "v_xor_b32_e32 v8, src_flat_scratch_base_hi, v5",
    ]
    program = Program("flat", "gfx1250", 32, lines)
    library = Library([program])
    start = Start(program, random.Random(0), (1 << 32) - 1, 0, 0xF0)
    start.v[6] = np.array([(lane * 7 + 3) % 32 for lane in range(32)], dtype=np.uint32)
    words = start.scratch.view(np.uint32).reshape(32, -1)
    wanted = [int(words[(lane * 7 + 3) % 32, 3]) for lane in range(32)]
    library.run(0, start)
    assert start.v[7].tolist() == wanted
    assert (start.v[8] < 0x4000000).all(), "compiled code asks whether an address is private this way"
    assert start.memory.ctypes.data >> 32 ^ (1 << 26) >= 0x4000000


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("buffer_load_b32 v32, v3, s[56:59], null idxen", "buffer with an index"),
        ("v_wmma_f32_16x16x32_f16 v[64:71], v[0:7], v[16:23], v[32:39] neg_lo:[1,0,0]", "modifier neg_lo"),
        ("v_wmma_f32_16x16x128_f8f6f4 v[0:7], v[8:19], v[20:31], v[0:7] matrix_a_fmt:MATRIX_FMT_FP6", "MATRIX_FMT_FP6"),
        ("v_cvt_scale_pk8_f16_fp8 v[80:83], v[16:17], v1", "vector register cannot be read as a scalar"),
        ("v_cvt_scale_pk8_f16_fp8 v[80:83], v[16:17], s1 scale_sel:1", "scale_sel"),
        ("v_pk_add_bf16 v1, v2, 1.0", "floating-point constant"),
        ("v_cvt_f32_fp8_e64 v1, v2 clamp", "modifier clamp"),
        ("ds_load_addtid_b32 v1", "M0"),
        ("v_swmmac_f32_16x16x64_f16 v[64:71], v[0:7], v[16:31], v48", "not in the table"),
        ("tensor_load_to_lds s[0:3], s[8:15], s[16:19], s[20:23]", "one or two dimensions"),
        ("s_barrier_signal -3", "only the barrier of the workgroup"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_refused(line: str, why: str) -> None:
    with pytest.raises((TranslationError, ValueError), match=why):
        Library([Program("refused", "gfx1250", 32, [line])])


def test_triton_turns_lanes_off_by_an_address_behind_lds() -> None:
    """0x7fffffff: dropped and read as 0 with intent, also with an offset; other addresses outside stay faults."""
    lines = [
        "ds_load_b32 v32, v4",
        f"global_load_async_to_lds_b32 v4, v5, {BASE} offset:16",
        "ds_store_b32 v4, v8 offset:64",
    ]
    program = Program("ds_load_b32", "gfx1250", 32, lines)
    library = Library([program])
    for outside, is_fault in ((0x7FFFFFFF, False), (0x7FFF0000, True)):
        start = Start(program, random.Random(0), (1 << 32) - 1, 0, 0xF0)
        prepare(start, "ds_load_b32", 32, "gfx1250")
        start.v[4] = np.arange(32, dtype=np.uint32) * 128
        start.v[4, ::2] = outside
        start.v[5] = np.arange(32, dtype=np.uint32) * 4
        if not is_fault:
            start.v[5, ::2] = 0x40000000  # nothing is there, and nothing is read
        if is_fault:
            with pytest.raises(AssertionError, match="faults"):
                library.run(0, start)
            continue
        before = start.lds.copy()
        library.run(0, start)
        assert not start.v[32, ::2].any()
        changed = np.flatnonzero(start.lds != before) // 4
        assert {int(one) * 4 % 256 for one in changed} <= {128 + 16, 128 + 64}


def test_a_tile_that_asks_for_more_is_a_fault() -> None:
    """Gathers, multicasts, barriers and iteration are in the descriptor, which only the run sees."""
    program = Program("tensor_load_to_lds", "gfx1250", 32, ["tensor_load_to_lds s[48:51], s[64:71]"])
    library = Library([program])
    for word, bit in ((48, 31), (64, 0), (64, 18), (64, 19)):
        start = Start(program, random.Random(0), 1, 0, 0xF0)
        prepare(start, "tensor_load_to_lds", 32, "gfx1250")
        start.state[word] = int(start.state[word]) | 1 << bit
        with pytest.raises(AssertionError, match="faults"):
            library.run(0, start)
