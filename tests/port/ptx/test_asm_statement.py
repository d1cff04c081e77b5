"""Finding asm statements in C++ and taking them apart."""

from __future__ import annotations

import pytest

from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.ptx.asm_statement import AsmStatement, asm_statements
from kernel_pytorch.port.ptx.rewrite import looks_like_ptx


def statements(text: str) -> list[AsmStatement]:
    return list(asm_statements(CxxFile("a.cu", text.encode(), "cuda")))


def test_parts() -> None:
    text = (
        'void f() { asm volatile("add.u32 %0, %1, %[b];\\n\\t" : "=&r"(x[i]) : "r"(g(a, 1)), [b] "n"(4) : "memory"); }'
    )
    (found,) = statements(text)
    assert text[found.span.start : found.span.end].startswith("asm volatile(") and text[found.span.end] == ";"
    assert found.is_volatile and not found.in_directive
    assert found.template == "add.u32 %0, %1, %[b];\n\t"
    assert [(one.constraint, one.is_read, one.is_written, one.expression) for one in found.operands] == [
        ("r", False, True, "x[i]"), ("r", True, False, "g(a, 1)"), ("n", True, False, "4"),
    ]  # fmt: skip
    assert found.operands[2].name == "b"
    assert found.clobbers == ("memory",)


def test_strings_are_joined_and_comments_skipped() -> None:
    (found,) = statements(
        'asm("{ .reg .u32 t;" /* a register */ "mov.u32 t, %1;" // and\n "mov.u32 %0, t; }" : "=r"(a) : "r"(b));'
    )
    assert found.template == "{ .reg .u32 t;mov.u32 t, %1;mov.u32 %0, t; }"


def test_empty_sections_and_double_colons() -> None:
    (found,) = statements('asm volatile("bar.sync %0;" ::"n"(0) : "memory");')
    assert [one.constraint for one in found.operands] == ["n"]
    (found,) = statements('__asm__ __volatile__("membar.gl;" ::: "memory");')
    assert found.operands == () and found.clobbers == ("memory",)


def test_tied_operand_takes_the_class_of_its_output() -> None:
    (found,) = statements('asm("add.u32 %0, %1, 1;" : "=r"(a) : "0"(b));')
    assert found.operands[1].constraint == "r"


def test_operands_without_a_comma_between() -> None:
    (found,) = statements('void f() { asm("add.u32 %0, %1, %2;" : "=r"(x) : "r"(g(a)) "r"(b[0]), "n"(4)); }')
    assert [one.expression for one in found.operands] == ["x", "g(a)", "b[0]", "4"]


def test_in_a_macro() -> None:
    text = '#define ADD(d, a) \\\n  asm("add.u32 %0, %1, 1;" \\\n      : "=r"(d) \\\n      : "r"(a))\nint x;\n'
    (found,) = statements(text)
    assert found.in_directive
    assert [one.expression for one in found.operands] == ["d", "a"]


def test_text_put_together_by_the_preprocessor_is_an_obstacle() -> None:
    (found,) = statements('asm("mov." TYPE " %0, %1;" : "=r"(a) : "r"(b));')
    assert found.template is None and "TYPE" in found.obstacle


@pytest.mark.parametrize(
    "text",
    [
        'register int r asm("r0");',
        "int asm_count = 1;",
        '// asm("mov");',
        'const char* s = "asm(1)";',
        "asm(",
        'asm("x"',
    ],
)
def test_what_is_no_statement(text: str) -> None:
    assert statements(text) == []


@pytest.mark.parametrize(
    ("text", "is_ptx"),
    [
        ('asm("mov.u32 %0, %%laneid;" : "=r"(a));', True),
        ('asm("trap;");', True),
        ('asm("bar.sync 0;");', True),
        ('asm("{ .reg .pred p; setp.eq.u32 p, %0, 1; }" :: "r"(a));', True),
        ('asm("rdtsc" : "=a"(lo), "=d"(hi));', False),
        ('asm("mov %1, %0" : "=r"(a) : "r"(b));', False),
        ('asm("mov.m.x m0, x0, 0xff");', False),
        ('asm("add x0, x1, x2");', False),
        ('asm("pause");', False),
        ('asm("mfence" ::: "memory");', False),
        ('asm("dmb ish");', False),
    ],
)
def test_host_assembly_is_told_apart(text: str, is_ptx: bool) -> None:
    (found,) = statements(text)
    assert looks_like_ptx(found) is is_ptx
