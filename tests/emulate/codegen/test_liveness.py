"""What is still needed where."""

from __future__ import annotations

from kernel_pytorch.emulate.assembly.compiler_text import read_compiler_text
from kernel_pytorch.emulate.codegen.effects import effects
from kernel_pytorch.emulate.codegen.flow import lay_out
from kernel_pytorch.emulate.codegen.liveness import Liveness, analyse
from kernel_pytorch.emulate.isa.table import find


def liveness(text: str) -> Liveness | None:
    listing = read_compiler_text(f"\t.text\n\t.type\tk,@function\nk:\n{text}\n")
    flow = lay_out((listing.functions["k"],), {"k": 0})
    found = []
    for one in flow.instructions:
        row = find(one.mnemonic, "gfx942")
        assert row is not None
        found.append((effects(one, row, 64),))
    return analyse(flow, found)


def needs(text: str, position: int, register: int) -> bool:
    found = liveness(text)
    assert found is not None
    return found.needs(position, ("v", register))


def test_a_value_that_is_replaced_unread_is_not_needed() -> None:
    text = "v_mov_b32_e32 v1, 1\nv_mov_b32_e32 v1, 2\nglobal_store_dword v[2:3], v1, off\ns_endpgm"
    assert not needs(text, 1, 1)
    assert needs(text, 2, 1)
    assert not needs(text, 3, 1)


def test_a_masked_write_does_not_replace_the_lanes_that_were_off() -> None:
    text = (
        "v_mov_b32_e32 v1, 1\ns_and_saveexec_b64 s[0:1], vcc\nv_mov_b32_e32 v1, 2\n"
        "s_or_b64 exec, exec, s[0:1]\nglobal_store_dword v[2:3], v1, off\ns_endpgm"
    )
    assert needs(text, 1, 1), "lanes that skip the second write keep the first"


def test_turning_lanes_off_leaves_a_write_whole() -> None:
    text = (
        "v_mov_b32_e32 v1, 1\nv_mov_b32_e32 v1, 2\ns_and_saveexec_b64 s[0:1], vcc\n"
        "global_store_dword v[2:3], v1, off\ns_endpgm"
    )
    assert not needs(text, 1, 1)


def test_a_read_of_other_lanes_needs_what_was_there_before() -> None:
    text = "v_mov_b32_e32 v1, 2\nv_readlane_b32 s0, v1, 3\nglobal_store_dword v[2:3], v4, off\ns_endpgm"
    assert needs(text, 0, 1), "lane 3 may be off"


def test_what_a_loop_carries_is_needed() -> None:
    text = (
        "v_mov_b32_e32 v1, 0\n.LBB0_1:\nv_add_u32_e32 v1, 1, v1\nv_mov_b32_e32 v5, v1\n"
        "s_cbranch_scc1 .LBB0_1\nglobal_store_dword v[2:3], v5, off\ns_endpgm"
    )
    assert needs(text, 3, 1)
    assert needs(text, 3, 5)
    found = liveness(text)
    assert found is not None and not found.needs_scalar(0, 106)


def test_registers_addressed_by_number_keep_everything() -> None:
    assert liveness("s_set_gpr_idx_on s0, gpr_idx(SRC0)\nv_mov_b32_e32 v0, v1\ns_set_gpr_idx_off\ns_endpgm") is None


def test_a_branch_on_vcc_reads_it() -> None:
    text = "s_mov_b64 vcc, s[0:1]\ns_cbranch_{} .LBB0_1\ns_nop 0\n.LBB0_1:\ns_endpgm"
    for branch in ("vccz", "vccnz"):
        found = liveness(text.format(branch))
        assert found is not None
        assert found.needs_scalar(1, 106)
        assert found.needs_scalar(1, 107)
    found = liveness(text.format("scc1"))
    assert found is not None
    assert not found.needs_scalar(1, 106)
