"""Whole texts: the compiler's and llvm-objdump's."""

from __future__ import annotations

import pytest

from kernel_pytorch.emulate.assembly.compiler_text import read_compiler_text
from kernel_pytorch.emulate.assembly.instruction import AssemblyError, Label, OperandPlace
from kernel_pytorch.emulate.assembly.objdump_text import read_objdump_text

COMPILER = """
	.text
	.file	1 "src" "k.hip"
	.globl	k
	.type	k,@function
k:                                      ; @k
	.loc	1 7 3                           ; k.hip:7:3
	s_load_dword s3, s[0:1], 0x24
.LBB0_1:                                ; =>This Inner Loop
	v_add_u32_e32 v0, s2, v0 ; a comment
	s_cbranch_scc1 .LBB0_1
	s_endpgm
.Lfunc_end0:
	.section	.rodata,"a",@progbits
	.p2align	2, 0x0
.Lswitch.table.k:
	.long	17
	.long	0xffffffff
	.byte	1,2
	.zero	2
	.asciz	"a\\"\\012\\\\"
names:
	.quad	k
"""

OBJDUMP = """
k.hsaco:	file format elf64-amdgpu

Disassembly of section .text:

0000000000001900 <k>:
; k():
; k.hip:7
	s_load_dword s3, s[0:1], 0x24                              // 000000001900: C00200C0 00000024
	v_add_u32_e32 v0, s2, v0                                   // 000000001908: 68000002
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)// 00000000190C: BF870092
	s_cbranch_scc1 65533                                       // 000000001910: BF85FFFD <k+0x8>
	s_endpgm                                                   // 000000001914: BF810000
	s_nop 0                                                    // 000000001918: BF800000
"""


def test_the_compilers_text() -> None:
    listing = read_compiler_text(COMPILER)
    function = listing.functions["k"]
    assert [one.mnemonic for one in function.instructions] == [
        "s_load_dword", "v_add_u32", "s_cbranch_scc1", "s_endpgm",
    ]  # fmt: skip
    assert function.labels[".LBB0_1"] == 1
    assert function.instructions[0].place == OperandPlace("src/k.hip", 7)
    table = listing.data[".Lswitch.table.k"]
    assert table.align == 4
    assert table.content == b"\x11\0\0\0\xff\xff\xff\xff\x01\x02\0\0" + b'a"\n\\\0'
    assert listing.data["names"].content is None, "an address is no number before linking"


def test_a_line_that_is_not_understood_is_named() -> None:
    with pytest.raises(AssemblyError, match=r"line 10.*v_add_u32_e32.*sideways"):
        read_compiler_text(COMPILER.replace("v0 ; a comment", "v0 sideways"))


def test_llvm_objdumps_text() -> None:
    function = read_objdump_text(OBJDUMP, {"k": 0x18}).functions["k"]
    assert [one.mnemonic for one in function.instructions] == [
        "s_load_dword", "v_add_u32", "s_delay_alu", "s_cbranch_scc1", "s_endpgm",
    ]  # fmt: skip
    assert function.address == 0x1900
    assert function.instructions[3].operands == (Label("0x1908"),)
    assert function.labels["0x1908"] == 1
    assert function.instructions[1].place == OperandPlace("k.hip", 7)


def test_both_texts_give_the_same_instructions() -> None:
    compiler = read_compiler_text(COMPILER).functions["k"].instructions
    dumped = read_objdump_text(OBJDUMP, {"k": 0x18}).functions["k"].instructions
    plain = [one for one in dumped if one.mnemonic != "s_delay_alu"]
    for a, b in zip(compiler, plain, strict=True):
        assert (a.mnemonic, a.encoding, a.modifiers) == (b.mnemonic, b.encoding, b.modifiers)
        if not a.mnemonic.startswith("s_cbranch"):
            assert a.operands == b.operands


def test_local_labels_that_were_kept_are_no_functions() -> None:
    kept = (
        OBJDUMP.replace("\tv_add_u32_e32", "\n0000000000001908 <.LBB0_1>:\n\tv_add_u32_e32")
        .replace("s_cbranch_scc1 65533 ", "s_cbranch_scc1 .LBB0_1 ")
        .replace(" <k+0x8>", "")
    )
    listing = read_objdump_text(kept, {"k": 0x18})
    assert list(listing.functions) == ["k"]
    assert listing.functions["k"].labels["0x1908"] == 1
