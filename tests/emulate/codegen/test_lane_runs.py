"""Runs of lane-wise instructions: what is fused must do what single steps would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from kernel_pytorch.emulate.codegen import outline
from kernel_pytorch.emulate.codegen.emission import TranslationError
from kernel_pytorch.emulate.single import Snippets, WaveState, blank_state, build_snippets

PROGRAMS = {
    # The run's loop comes after the scalar code between its instructions: operands are what they were.
    "scalar-between": "v_add_u32_e32 v1, s0, v0\ns_mov_b32 s0, 100\nv_add_u32_e32 v2, s0, v0\ns_mov_b32 s0, 7",
    "chain": "v_add_u32_e32 v1, 1, v0\nv_lshlrev_b32_e32 v1, 2, v1\nv_sub_u32_e32 v0, v1, v0",
    "mask-in-run": "v_cmp_lt_u32_e32 vcc, 10, v0\nv_cndmask_b32_e32 v1, v0, v2, vcc\ns_mov_b64 s[4:5], vcc",
    "mask-then-scalar": "v_cmp_eq_u32_e64 s[6:7], 3, v0\ns_or_b64 s[6:7], s[6:7], 1\n"
    "v_cndmask_b32_e64 v1, 0, 1, s[6:7]",
    "carry": "v_add_co_u32_e32 v2, vcc, v0, v1\nv_addc_co_u32_e32 v3, vcc, 0, v4, vcc",
    "wide": "v_lshlrev_b64 v[2:3], 3, v[0:1]\nv_lshl_add_u64 v[4:5], v[2:3], 1, s[2:3]\nv_mov_b32_e32 v3, 5",
    "exec": "s_mov_b64 s[8:9], exec\nv_cmp_gt_u32_e32 vcc, 8, v0\ns_and_saveexec_b64 s[2:3], vcc\n"
    "v_mov_b32_e32 v1, 42\ns_or_b64 exec, exec, s[2:3]\nv_add_u32_e32 v1, 1, v1",
    "cmpx": "v_cmpx_lt_u32_e32 vcc, 40, v0\nv_mov_b32_e32 v1, 9",
    "first-lane": "v_readfirstlane_b32 s0, v0\nv_readlane_b32 s1, v0, 5\nv_writelane_b32 v1, s1, 2",
    "bpermute": "v_lshlrev_b32_e32 v1, 2, v2\nds_bpermute_b32 v1, v1, v0",
    "one-lane-loop": "v_ffbh_u32_e32 v1, v0\nv_add_u32_e32 v1, 1, v1",
    "packed": "v_pk_add_u16 v1, v0, v2 op_sel:[0,1] op_sel_hi:[1,0]",
    "rounding": "v_cvt_f32_u32_e32 v1, v0\nv_mul_f32_e32 v1, 0.5, v1\nv_rndne_f32_e32 v1, v1",
    "high-word": "v_lshlrev_b32_e32 v1, 16, v0\nv_alignbit_b32 v1, v0, v1, 16",
}


@pytest.fixture(scope="module", params=["fused", "as functions"])
def gfx942(request: pytest.FixtureRequest) -> Iterator[Snippets]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param != "fused":
            patch.setattr(outline, "INLINE_INSTRUCTIONS", 0)
            patch.setattr(outline, "ONE_LOOP_INSTRUCTIONS", 0)
        yield build_snippets(list(PROGRAMS.values()), "gfx942", 64)


def run(snippets: Snippets, name: str, prepare: Callable[[WaveState], None] | None = None) -> WaveState:
    state = blank_state(64)
    state.v[0] = np.arange(64)
    if prepare is not None:
        prepare(state)
    snippets.run(list(PROGRAMS).index(name), state)
    assert not state.faults
    return state


LANES = np.arange(64, dtype=np.uint32)
EVERY_EXEC = [2**64 - 1, 0, 1, 1 << 63, 0xAAAAAAAAAAAAAAAA, 0x00000000FFFFFFFF, 0x0123456789ABCDEF]


def expected(mask: int, on: Any, off: Any) -> Any:
    active = np.array([mask >> lane & 1 for lane in range(64)], bool)
    return np.where(active, on, off).astype(np.uint32)


def test_scalars_are_read_where_their_instruction_stands(gfx942: Snippets) -> None:
    state = run(gfx942, "scalar-between", lambda s: s.s.__setitem__(0, 5))
    assert (state.v[1] == LANES + 5).all()
    assert (state.v[2] == LANES + 100).all()
    assert state.s[0] == 7


@pytest.mark.parametrize("mask", EVERY_EXEC)
def test_lanes_that_are_off_keep_their_registers(gfx942: Snippets, mask: int) -> None:
    state = run(gfx942, "chain", lambda s: setattr(s, "exec", mask))
    assert (state.v[1] == expected(mask, (LANES + 1) * 4, 0)).all()
    assert (state.v[0] == expected(mask, (LANES + 1) * 4 - LANES, LANES)).all()


@pytest.mark.parametrize("mask", EVERY_EXEC)
def test_masks_made_and_used_in_one_run(gfx942: Snippets, mask: int) -> None:
    def prepare(state: WaveState) -> None:
        state.exec = mask
        state.v[1], state.v[2] = 77, 1000

    state = run(gfx942, "mask-in-run", prepare)
    assert (state.v[1] == expected(mask, np.where(LANES > 10, 1000, LANES), 77)).all()
    wanted = sum(1 << lane for lane in range(11, 64)) & mask
    assert int(state.s[4]) | int(state.s[5]) << 32 == wanted
    assert int(state.s[106]) | int(state.s[107]) << 32 == wanted


def test_a_scalar_instruction_sees_the_finished_mask(gfx942: Snippets) -> None:
    state = run(gfx942, "mask-then-scalar")
    assert int(state.s[6]) == 0b1001
    assert state.v[1].tolist() == [1, 0, 0, 1] + [0] * 60


def test_carries_go_from_lane_to_lane_of_the_next_instruction(gfx942: Snippets) -> None:
    def prepare(state: WaveState) -> None:
        state.v[1] = 0xFFFFFFF0
        state.v[4] = 7

    state = run(gfx942, "carry", prepare)
    assert (state.v[2] == LANES + np.uint32(0xFFFFFFF0)).all()
    assert (state.v[3] == 7 + (LANES >= 16)).all()
    assert int(state.s[106]) | int(state.s[107]) << 32 == 0, "the second sum's carry"


def test_register_pairs(gfx942: Snippets) -> None:
    def prepare(state: WaveState) -> None:
        state.v[1] = 0x80000001
        state.s[2], state.s[3] = 0xFFFFFFFF, 1

    state = run(gfx942, "wide", prepare)
    start = LANES.astype(np.uint64) | np.uint64(0x80000001 << 32)
    shifted = start << np.uint64(3)
    total = (shifted << np.uint64(1)) + np.uint64(0x1FFFFFFFF)
    assert (state.v[2] == shifted.astype(np.uint32)).all()
    assert (state.v[3] == 5).all(), "half of the pair was replaced afterwards"
    assert (state.v[4] == total.astype(np.uint32)).all()
    assert (state.v[5] == (total >> np.uint64(32)).astype(np.uint32)).all()


def test_a_branch_of_some_lanes(gfx942: Snippets) -> None:
    state = run(gfx942, "exec", lambda s: s.v.__setitem__(1, 10))
    assert (state.v[1] == np.where(LANES < 8, 43, 11)).all()
    assert state.exec == 2**64 - 1


def test_cmpx_turns_lanes_off(gfx942: Snippets) -> None:
    state = run(gfx942, "cmpx")
    assert (state.v[1] == np.where(LANES > 40, 9, 0)).all()
    assert state.exec == sum(1 << lane for lane in range(41, 64))


def test_single_lanes(gfx942: Snippets) -> None:
    state = run(gfx942, "first-lane", lambda s: setattr(s, "exec", 0xFF000))
    assert (state.s[0], state.s[1]) == (12, 5)
    assert state.v[1].tolist() == [0, 0, 5] + [0] * 61


def test_bpermute_gives_zero_for_lanes_that_are_off(gfx942: Snippets) -> None:
    def prepare(state: WaveState) -> None:
        state.v[2] = 63 - LANES
        state.exec = 0x0000FFFFFFFFFFFF

    state = run(gfx942, "bpermute", prepare)
    found = state.v[1][:48]
    assert (found == np.where(63 - LANES[:48] < 48, 63 - LANES[:48], 0)).all()
    full = run(gfx942, "bpermute", lambda s: s.v.__setitem__(2, LANES ^ 5))
    assert (full.v[1] == LANES ^ 5).all()


@pytest.mark.parametrize("mask", EVERY_EXEC)
def test_a_loop_over_active_lanes_only(gfx942: Snippets, mask: int) -> None:
    state = run(gfx942, "one-lane-loop", lambda s: setattr(s, "exec", mask))
    wanted = [33 - int(lane).bit_length() if lane else 0 for lane in LANES]
    assert (state.v[1] == expected(mask, wanted, 0)).all()


def test_rounding_to_even(gfx942: Snippets) -> None:
    state = run(gfx942, "rounding")
    assert (state.v[1].view(np.float32) == np.rint(LANES * np.float32(0.5))).all()


def test_packed_halves(gfx942: Snippets) -> None:
    def prepare(state: WaveState) -> None:
        state.v[0] = 0x00030001
        state.v[2] = 0x00500040

    state = run(gfx942, "packed", prepare)
    assert (state.v[1] == ((3 + 0x40) << 16 | (1 + 0x50))).all()


def test_wave32_pairs_read_before_they_write() -> None:
    swap = build_snippets(
        [
            "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0",
            "v_mov_b16_e32 v0.h, v1.l",
            "v_cmp_lt_u32_e32 vcc_lo, 3, v0\nv_dual_cndmask_b32 v2, v0, v1 :: v_dual_mov_b32 v3, 1",
            "v_add_co_u32 v2, s4, v0, v1\nv_add_co_ci_u32_e64 v3, null, 0, 0, s4",
        ],
        "gfx1100",
        32,
    )
    lanes = np.arange(32, dtype=np.uint32)
    states = [blank_state(32) for _ in range(4)]
    for number, state in enumerate(states):
        state.v[0], state.v[1] = lanes, lanes + 100
        swap.run(number, state)
    assert (states[0].v[0] == lanes + 100).all() and (states[0].v[1] == lanes).all()
    assert (states[1].v[0] == ((lanes + 100) << 16 | lanes)).all()
    assert (states[2].v[2] == np.where(lanes > 3, lanes + 100, lanes)).all()
    assert (states[3].v[2] == 2 * lanes + 100).all() and not states[3].v[3].any()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("v_frobnicate_f32_e32 v0, v1", "v_frobnicate_f32 is not in the table for gfx942"),
        ("v_add_u32_e64 v0, v1, v2 mul:2 offset:4", "offset"),
        ("v_add_u32_e32 v0, v1", "operands"),
        ("s_getreg_b32 s0, hwreg(HW_REG_PERF_SNAPSHOT)", "HW_REG_PERF_SNAPSHOT"),
        ("ds_read_b32 v0, v1 gds", "gds"),
        ("s_branch nowhere", "branch target"),
    ],
)
def test_what_is_not_known_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(TranslationError) as caught:
        build_snippets([text], "gfx942", 64)
    assert named in str(caught.value)
    assert "kpt_snippet_0" in str(caught.value)


def test_a_constant_of_mixed_precision_is_a_half_where_its_source_is_one() -> None:
    """As LLVM writes them: halves by default of op_sel_hi, single precision where it says 0."""
    programs = [
        "v_fma_mix_f32 v1, v0, 1.0, v2 op_sel_hi:[1,1,0]",
        "v_fma_mix_f32 v1, v0, v2, 0.5 op_sel_hi:[1,0,1]",
        "v_fma_mix_f32 v1, v0, -v2, -0.5 op_sel_hi:[1,0,1]",
        "v_fma_mixlo_f16 v1, v0, 2.0, 1.0 op_sel_hi:[1,1,1]",
        "v_fma_mix_f32 v1, v0, 4.0, v2 op_sel_hi:[1,0,0]",
    ]
    half, single = np.arange(32).astype(np.float16) / 8, np.linspace(-3, 3, 32).astype(np.float32)
    wide = half.astype(np.float32)
    wanted = [wide + single, wide * single + 0.5, wide * -single - 0.5, wide * 2 + 1, wide * 4 + single]
    for target, wave in (("gfx942", 64), ("gfx1100", 32)):
        snippets = build_snippets(programs, target, wave)
        for index, numbers in enumerate(wanted):
            state = blank_state(wave)
            state.v[0][:32], state.v[2][:32] = half.view(np.uint16), single.view(np.uint32)
            snippets.run(index, state)
            bits = state.v[1][:32]
            found = bits.astype(np.uint16).view(np.float16) if "mixlo" in programs[index] else bits.view(np.float32)
            np.testing.assert_allclose(found, numbers, rtol=1e-6, err_msg=f"{target}: {programs[index]}")
