"""Operands, modifiers and encodings of single instructions."""

from __future__ import annotations

import pytest

from kernel_pytorch.emulate.assembly.instruction import (
    AssemblyError,
    Decimal,
    HardwareRegister,
    Label,
    LabelDistance,
    Named,
    Number,
    Operand,
    Register,
    SymbolPart,
)
from kernel_pytorch.emulate.assembly.instruction_text import parse_instruction
from kernel_pytorch.emulate.assembly.operand_text import float_bits, parse_operand, swizzle_offset


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v5", Register("v", 5)),
        ("v[2:3]", Register("v", 2, 2)),
        ("s[4:7]", Register("s", 4, 4)),
        ("a[0:15]", Register("a", 0, 16)),
        ("ttmp9", Register("s", 117)),
        ("vcc", Register("s", 106, 2)),
        ("vcc_lo", Register("s", 106)),
        ("exec_hi", Register("exec", 1)),
        ("m0", Register("s", 124)),
        ("-v1", Register("v", 1, neg=True)),
        ("|v1|", Register("v", 1, abs=True)),
        ("-|v[2:3]|", Register("v", 2, 2, neg=True, abs=True)),
        ("sext(v7)", Register("v", 7, sext=True)),
        ("v3.h", Register("v", 3, half="h")),
        ("0x3f800000", Number(0x3F800000)),
        ("-16", Number(-16)),
        ("0.5", Decimal(0.5)),
        ("-4.0", Decimal(-4.0)),
        ("off", Named("off")),
        ("src_shared_base", Named("src_shared_base")),
        (".LBB0_2", Label(".LBB0_2")),
        ("table@rel32@lo+4", SymbolPart("table", "rel32@lo", 4)),
        ("f@gotpcrel32@hi+12", SymbolPart("f", "gotpcrel32@hi", 12)),
        ("(.LBB0_5-.Lpost_getpc0)&4294967295", LabelDistance(".LBB0_5", ".Lpost_getpc0", 0)),
        ("(.LBB0_5-.Lpost_getpc0)>>32", LabelDistance(".LBB0_5", ".Lpost_getpc0", 32)),
        ("hwreg(HW_REG_MODE, 4, 2)", HardwareRegister("HW_REG_MODE", 4, 2)),
    ],
)
def test_operands(text: str, expected: Operand) -> None:
    assert parse_operand(text) == expected


def test_encodings_and_modifiers() -> None:
    one = parse_instruction("v_fma_f32_e64 v0, -v1, |v2|, v3 clamp mul:2")
    assert (one.mnemonic, one.encoding) == ("v_fma_f32", "e64")
    assert one.modifiers == {"clamp": True, "mul": 2}
    moved = parse_instruction("v_add_u32_dpp v0, v1, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1")
    assert moved.encoding == "dpp"
    assert moved.modifiers["quad_perm"] == (1, 0, 3, 2)
    load = parse_instruction("global_load_dword v4, v[2:3], off offset:-16 sc0")
    assert load.modifiers == {"offset": -16, "sc0": True}
    assert load.operands[-1] == Named("off")


def test_a_dual_instruction_has_two_halves() -> None:
    pair = parse_instruction("v_dual_mov_b32 v0, v1 :: v_dual_add_f32 v1, v0, v2")
    assert pair.mnemonic == "v_mov_b32"
    assert pair.dual is not None
    assert pair.dual.mnemonic == "v_add_f32"


def test_inline_assembly_may_leave_a_comma_out() -> None:
    with_comma = parse_instruction("global_load_dwordx4 v[2:5], v[2:3], off sc1")
    without = parse_instruction("global_load_dwordx4 v[2:5], v[2:3] off sc1")
    assert (without.operands, without.modifiers) == (with_comma.operands, with_comma.modifiers)
    assert list(parse_instruction("global_store_dword v[0:1], v2 s[4:5] offset:16").modifiers) == ["offset"]


def test_what_orders_execution_is_kept_as_text() -> None:
    one = parse_instruction("s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)")
    assert one.mnemonic == "s_delay_alu"
    assert not one.modifiers


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("v_add_f32_e32 v0, v1, q2!", "q2!"),
        ("v_add_f32_e64 v0, v1, v2 frobnicate", "frobnicate"),
        ("v_add_f32_e64 v0, v1, v2 frob:3", "frob:3"),
        ("v_mov_b64 v[3:2], v[0:1]", "v[3:2]"),
        ("ds_swizzle_b32 v0, v1 offset:swizzle(TWIST,1)", "TWIST"),
    ],
)
def test_what_is_not_understood_is_named(text: str, named: str) -> None:
    with pytest.raises(AssemblyError) as caught:
        parse_instruction(text)
    assert named in str(caught.value)


def test_swizzles_are_numbers() -> None:
    assert swizzle_offset("swizzle(SWAP,16)") == 0x401F
    assert swizzle_offset('swizzle(BITMASK_PERM,"00p11")') == 0x64
    assert swizzle_offset("swizzle(QUAD_PERM,0,1,2,3)") == 0x80E4
    assert swizzle_offset("swizzle(BROADCAST,8,3)") == 0x78


def test_constants_have_the_bits_of_their_format() -> None:
    assert float_bits(1.0, 16) == 0x3C00
    assert float_bits(-0.5, 32) == 0xBF000000
    assert float_bits(0.15915494, 32) == 0x3E22F983
    assert float_bits(0.15915494309189532, 64) == 0x3FC45F306DC9C882


def test_a16_is_a_register_behind_a_comma_and_a_modifier_behind_an_operand() -> None:
    read = parse_instruction("v_accvgpr_read_b32 v42, a16")
    assert [str(one.file) for one in read.operands if isinstance(one, Register)] == ["v", "a"] and not read.modifiers
    image = parse_instruction("image_sample v0, v1, s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_1D a16")
    assert "a16" in image.modifiers and len(image.operands) == 4
