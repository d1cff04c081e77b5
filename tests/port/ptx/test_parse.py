"""PTX text to instructions, and what is refused."""

from __future__ import annotations

import pytest

from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.ptx.asm_statement import asm_statements
from kernel_pytorch.port.ptx.lower import Context
from kernel_pytorch.port.ptx.parse import (
    Address,
    Immediate,
    Pair,
    PtxSyntaxError,
    Ref,
    Register,
    RegisterDeclaration,
    Special,
    Vector,
    parse_program,
)
from kernel_pytorch.port.ptx.rewrite import handlers, note_for, notes, rewrite_asm


def test_a_block() -> None:
    program = parse_program(
        "{ // lanes\n .reg .pred p<2>;\n .reg .b32 %%a, b;\n setp.ne.s32 p0|p1, %1, -4;\n"
        " @!p1 ld.global.nc.L1::no_allocate.v2.u32 {%0, b}, [%2+16];\n shl.b32 %0, b, 0x1F; }"
    )
    declarations = [item for item in program.statements if isinstance(item, RegisterDeclaration)]
    assert [item.names for item in declarations] == [("p0", "p1"), ("a", "b")]
    first, second, third = program.instructions
    assert first.operands == (Pair(Register("p0"), Register("p1")), Ref(1), Immediate(-4))
    assert second.guard is not None and second.guard.is_negated and second.guard.operand == Register("p1")
    assert second.operands == (Vector((Ref(0), Register("b"))), Address(Ref(2), 16))
    assert second.modifiers == ("global", "nc", "L1::no_allocate", "v2", "u32")
    assert third.operands[2] == Immediate(31)


def test_literals_and_special_registers() -> None:
    (item,) = parse_program("mov.f32 %0, 0f3F800000").instructions
    assert item.operands[1] == Immediate(0x3F800000, 32)
    assert parse_program("mov.u32 %0, %%tid.x;").instructions[0].operands[1] == Special("tid.x")
    assert parse_program("mov.u32 %0, 0b101;").instructions[0].operands[1] == Immediate(5)
    assert parse_program("mov.u32 %0, 010;").instructions[0].operands[1] == Immediate(8)


@pytest.mark.parametrize(
    "text", ["loop: add.u32 %0, %0, 1; bra loop;", "{ mov.u32 %0, 1", "add.u32 %0,, 1;", "$$$", ".reg .u32 t<9999>;"]
)
def test_refused(text: str) -> None:
    with pytest.raises(PtxSyntaxError):
        parse_program(text)


def translated(asm: str) -> tuple[str | None, str]:
    (statement,) = asm_statements(CxxFile("a.cu", asm.encode(), "cuda"))
    result = rewrite_asm(statement, Context())
    return result.replacement, result.obstacle


@pytest.mark.parametrize(
    ("asm", "cpp"),
    [
        ('asm("mov.u32 %0, %%tid.x;" : "=r"(t))', "t = threadIdx.x"),
        ('asm volatile("bar.sync 0;")', "__syncthreads()"),
        ('asm volatile("membar.sys;")', "__threadfence_system()"),
        ('asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(x) : "l"(p))', "x = *(const float*)(p)"),
        ('asm volatile("st.global.wt.u32 [%0], %1;" :: "l"(p), "r"(v))', "*(unsigned*)(p) = (unsigned)v"),
        ('asm volatile("red.global.add.f32 [%0], %1;" :: "l"(p), "f"(v))', "atomicAdd((float*)(p), v)"),
        ('asm("cp.async.wait_all;")', "kpt_own_copies_done()"),
        ('asm volatile("griddepcontrol.wait;")', "(void)0"),
    ],
)
def test_short_forms(asm: str, cpp: str) -> None:
    assert translated(asm) == (cpp, "")


@pytest.mark.parametrize(
    ("asm", "said"),
    [
        ('asm("bar.sync 1, 64;")', "one barrier per block"),
        ('asm("bar.arrive 0, 64;")', "arrive"),
        ('asm("mov.u64 %0, %%globaltimer;" : "=l"(t))', "nanoseconds"),
        ('asm("addc.u32 %0, %1, 0;" : "=r"(a) : "r"(b))', "carry"),
        ('asm("add.cc.u32 %0, %1, %2;" : "=r"(a) : "r"(b), "r"(c))', "carry"),
        ('asm("add.rz.f32 %0, %1, %2;" : "=f"(a) : "f"(b), "f"(c))', ".rz"),
        ('asm("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%0}, {%1}, {%1}, {%1};" : "=r"(a) : "r"(b))', "mma"),
        ('asm("exit;")', "return"),
        ('asm("fma.rn.f16x2.relu %0, %1, %2, %3;" : "=r"(a) : "r"(b), "r"(c), "r"(d))', "type"),
        ('asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(a) : "r"(b), "r"(c), "r"(d))', "f4e"),
        ('asm("shfl.sync.down.b32 %0, %1, 1, %2, 0xffffffff;" : "=r"(a) : "r"(b), "r"(c))', "clamp"),
        ('asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(a) : "r"(b), "r"(c), "r"(d), "r"(e))', "literal"),
        ('asm("ld.param.u32 %0, [%1];" : "=r"(a) : "l"(p))', ".param"),
        ('asm("mov.u32 %0, %%clusterid.x;" : "=r"(a))', "clusters"),
        ('asm("add.u32 %0, %1, %7;" : "=r"(a) : "r"(b))', "%7"),
        ('asm("add.u32 %0, %1, 1;" : "=x"(a) : "r"(b))', "register class"),
        ('asm("{ .reg .u32 t; .reg .u32 t; mov.u32 %0, t; }" : "=r"(a))', "twice"),
    ],
)  # fmt: skip
def test_obstacles(asm: str, said: str) -> None:
    replacement, obstacle = translated(asm)
    assert replacement is None
    assert said in obstacle or said in asm, obstacle
    assert obstacle


def test_an_operand_with_an_effect_is_evaluated_once() -> None:
    replacement, _ = translated('asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(d) : "r"(*p++), "r"(b), "r"(c))')
    assert replacement is not None and replacement.count("*p++") == 1


def test_macro_parameters_are_not_taken_for_variables() -> None:
    text = '#define MAJ(d, a, b, c) asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(d) : "r"(a), "r"(b), "r"(c))\n'
    replacement, _ = translated(text)
    assert replacement is not None and "\n" not in replacement
    assert all(f"(unsigned)({name})" in replacement and replacement.count(f"({name})") == 1 for name in "abc")


def test_every_translated_opcode_is_explained() -> None:
    assert all(note_for("cp.async" if opcode == "cp" else opcode) is not None for opcode in handlers())
    for note in notes().values():
        assert note.code in ("KP230", "KP231", "KP232") and note.what and note.amd
        assert note.effort in ("", "minutes", "hours", "days", "weeks")
        if note.code == "KP231":
            assert note.effort


@pytest.mark.parametrize(
    "text", ["", ";;;", "%", "@", "@p", "{{{{", "}", "a" * 5000, "mov.u32 " + "%0," * 2000, "\x00\xff", "[[[", "ld [%0"]
)
def test_odd_text_is_refused_not_crashed(text: str) -> None:
    (statement,) = asm_statements(CxxFile("a.cu", b'asm("' + text.encode("latin-1") + b'")', "cuda"))
    result = rewrite_asm(statement, Context())
    assert result.replacement is None or text.strip(";") == ""
