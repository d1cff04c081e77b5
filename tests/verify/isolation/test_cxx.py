from __future__ import annotations

import pytest

from kernel_pytorch.verify.isolation.cxx import compare_cxx
from kernel_pytorch.verify.isolation.cxx_conditions import fold
from kernel_pytorch.verify.isolation.cxx_tokens import CxxToken, Directive, read_items
from kernel_pytorch.verify.isolation.verdict import Isolation

PROVEN = {
    "gated line": ("f(0xffffffff);", "#if defined(USE_ROCM)\nf(~0ull);\n#else\nf(0xffffffff);\n#endif\n"),
    "gated block without else": ("a();\nb();", "a();\n#ifdef __HIP_PLATFORM_AMD__\nc();\n#endif\nb();"),
    "ifndef": ("f();", "#ifndef USE_ROCM\nf();\n#else\ng();\n#endif"),
    "not defined": ("f();", "#if !defined(USE_ROCM)\nf();\n#endif"),
    "elif": ("#if A\nx\n#else\ny\n#endif", "#if defined(USE_ROCM)\nz\n#elif A\nx\n#else\ny\n#endif"),
    "rocm in the middle": (
        "#if A\nx\n#else\ny\n#endif",
        "#if A\nx\n#elif defined(__HIPCC__)\nz\n#else\ny\n#endif",
    ),
    "widened condition": (
        "#if defined(__CUDACC__)\nx\n#endif",
        "#if defined(__CUDACC__) || defined(__HIPCC__)\nx\n#endif",
    ),
    "narrowed condition": ("#ifdef A\nx\n#endif", "#if defined(A) && !defined(USE_ROCM)\nx\n#endif"),
    "version": ("x", "#if HIP_VERSION >= 60200000\ny\n#else\nx\n#endif"),
    "undefined in arithmetic": ("x", "#if (ROCM_VERSION + 1) > 1\ny\n#else\nx\n#endif"),
    "nested": (
        "a b c",
        "a\n#if X_ROCM_IS_ELSEWHERE\n#endif\nb c".replace(
            "#if X_ROCM_IS_ELSEWHERE\n#endif\n", "#ifdef USE_HIP\n#if Q\nd\n#else\ne\n#endif\n#endif\n"
        ),
    ),
    "new constant": (
        "#pragma once\nint a = f(0xffffffff);",
        "#pragma once\n#ifdef USE_ROCM\n#define M ~0ull\n#else\n#define M 0xffffffff\n#endif\nint a = f(M);",
    ),
    "new constant in a header guard": (
        "#ifndef H\n#define H\nint a = f(32);\n#endif",
        "#ifndef H\n#define H\n#ifdef USE_ROCM\n#define W 64\n#else\n#define W 32\n#endif\nint a = f(W);\n#endif",
    ),
    "comments and layout": ("a(); // old\nb();", "/* new */ a();\n\n\n   b();"),
    "gate in a string stays text": ('s = "USE_ROCM";', 's = "USE_ROCM"; // #ifdef USE_ROCM'),
    "arch macro": ("x", "#if defined(__gfx942__) || defined(__gfx950__)\ny\n#else\nx\n#endif"),
    "continued lines": ("#define A b c\nA", "#define A b \\\n  c\n#ifdef USE_ROCM\n#undef A\n#endif\nA"),
    "crlf": ("a();\r\nb();\r\n", "a();\r\n#ifdef USE_ROCM\r\nz();\r\n#endif\r\nb();\r\n"),
    "include in the gate": ('#include "a.h"', '#ifdef USE_ROCM\n#include "hip.h"\n#endif\n#include "a.h"'),
}

CHANGED = {
    "plain edit": ("f(0xffffffff);", "f(0xffffffffull);"),
    "branches swapped": ("f(1);", "#ifdef USE_ROCM\nf(1);\n#else\nf(2);\n#endif"),
    "else forgotten": ("f(1);", "#ifdef USE_ROCM\nf(2);\n#endif"),
    "ungated addition": ("a();", "a();\nb();"),
    "ungated include": ("a();", '#include "hip_compat.h"\na();'),
    "gate by another name": ("f(1);", "#ifdef AMD_SPECIAL\nf(2);\n#else\nf(1);\n#endif"),
    "condition of others changed": ("#if A\nx\n#endif", "#if A || B\nx\n#endif"),
    "constant with another value": (
        "int a = f(32);",
        "#ifdef USE_ROCM\n#define W 64\n#else\n#define W 33\n#endif\nint a = f(W);",
    ),
    "constant used before it is defined": ("int a = 32;", "int a = W;\n#define W 32"),
    "constant of one branch used in another": (
        "#if A\nx(1);\n#else\ny(1);\n#endif",
        "#if A\n#define N 1\nx(N);\n#else\ny(N);\n#endif",
    ),
    "directive runs into the next line": ("#define A\nB", "#define A B"),
    "define of an existing name": ("#define A 1\nA", "#define A 2\nA"),
    "string changed": ('s = "a b";', 's = "a  b";'),
    "raw string changed": ('s = R"(a\n#ifdef USE_ROCM\n)";', 's = R"(a\n)";'),
    "endif moved": ("#ifdef A\nx\n#endif\ny", "#ifdef A\nx\ny\n#endif"),
    "function-like macro": ("f(1)", "#define G(x) f(x)\nG(1)"),
}


@pytest.mark.parametrize("name", PROVEN)
def test_proven(name: str) -> None:
    old, new = PROVEN[name]
    verdict = compare_cxx("a.cu", old.encode(), new.encode())
    assert verdict.verdict is Isolation.PROVEN, verdict


@pytest.mark.parametrize("name", CHANGED)
def test_changed(name: str) -> None:
    old, new = CHANGED[name]
    assert compare_cxx("a.cu", old.encode(), new.encode()).verdict is Isolation.CHANGED


def test_what_cannot_be_decided_is_not_proven() -> None:
    old = b"f(1);"
    new = b"#if defined(USE_ROCM) ? A : B\nf(2);\n#else\nf(1);\n#endif"
    verdict = compare_cxx("a.cu", old, new)
    assert verdict.verdict is Isolation.NOT_PROVEN
    assert verdict.line == 1


def test_the_place_is_named() -> None:
    verdict = compare_cxx("a.cu", b"a();\nb();\nc();\n", b"a();\n#ifdef USE_ROCM\nz();\n#endif\nb();\nd();\n")
    assert (verdict.line, verdict.old_line) == (6, 3)
    assert "'c' became 'd'" in verdict.reason


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("defined(USE_ROCM)", 0),
        ("defined USE_ROCM || 1", 1),
        ("!defined(USE_ROCM) && !defined(__HIPCC__)", 1),
        ("HIP_VERSION >= 5", 0),
        ("(1 + 2 * 3) == 7", 1),
        ("-7 / 2 == -3 && -7 % 2 == -1", 1),
        ("defined(A) && defined(USE_ROCM)", 0),
        ("defined(A)", None),
        ("__has_include(<hip/hip_runtime.h>)", None),
        ("0x10 == 16u && 1'000 == 1000", 1),
        ("", None),
        ("(", None),
        ("1 / 0", None),
    ],
)
def test_conditions(condition: str, value: int | None) -> None:
    tokens = tuple(item.text for item in read_items(condition.encode()) if isinstance(item, CxxToken))
    assert fold(tokens).value == value


@pytest.mark.parametrize(
    "source", [b"", b'"', b"'", b"/*", b"#", b"#if", b"#endif\n#else", b'R"(', b"\xff\xfe\x00", b"\\", b"#define A\\"]
)
def test_broken_source_is_read_without_a_crash(source: bytes) -> None:
    assert compare_cxx("a.cu", source, source + b"\n").verdict in (Isolation.PROVEN, Isolation.CHANGED)


def test_lines_are_counted_through_comments_and_strings() -> None:
    items = read_items(b'/* a\nb */ x\n"s\\\nt" y\n#define Z\nw')
    lines = {item.text if isinstance(item, CxxToken) else b"#" + item.name: item.line for item in items}
    assert lines == {b"x": 2, b'"st"': 3, b"y": 4, b"#define": 5, b"w": 6}
    assert isinstance(items[3], Directive)
