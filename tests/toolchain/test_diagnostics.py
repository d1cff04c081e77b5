"""Messages of clang and lld: where they point, and which cause they show."""

from __future__ import annotations

import pytest

from kernel_pytorch.toolchain.compile import CompileFailed, compile_device_text
from kernel_pytorch.toolchain.diagnostics import FixIt, errors, parse_messages, read_diagnostics, undefined_symbols
from tests.toolchain.pip_only import pip_toolchain

# Source, the code expected, the line it must be reported on.
CAUSES = {
    "narrow mask of a shuffle": (
        "#include <hip/hip_runtime.h>\n__global__ void k(int* p) {\n  p[0] = __shfl_sync(0xffffffffu, p[0], 0);\n}\n",
        "KP301",
        3,
    ),
    "narrow mask of a vote": (
        "#include <hip/hip_runtime.h>\n__global__ void k(int* p) {\n"
        "  unsigned m = 1;\n  p[0] = __any_sync(m, p[0]);\n}\n",
        "KP301",
        4,
    ),
    "warpSize as constexpr": ("#include <hip/hip_runtime.h>\nconstexpr int width = warpSize;\n", "KP308", 2),
    "warpSize as array size": (
        "#include <hip/hip_runtime.h>\n__global__ void k(int* p) {\n  __shared__ int s[warpSize];\n  p[0] = s[0];\n}\n",
        "KP308",
        3,
    ),
    "warpSize as template argument": (
        "#include <hip/hip_runtime.h>\ntemplate <int N> __device__ int f() { return N; }\n"
        "__global__ void k(int* p) { p[0] = f<warpSize>(); }\n",
        "KP308",
        3,
    ),
    "PTX register name": (
        "#include <hip/hip_runtime.h>\n"
        '__global__ void k(int* p) { asm volatile("mov.u32 %0, %%laneid;" : "=r"(p[0])); }\n',
        "KP230",
        2,
    ),
    "PTX constraint": (
        "#include <hip/hip_runtime.h>\n"
        '__device__ float f(float x) { asm("lg2.approx.f32 %0, %1;" : "=f"(x) : "f"(x)); return x; }\n',
        "KP230",
        2,
    ),
    "CUDA runtime header": ("#include <cuda_runtime.h>\n", "KP201", 1),
    "CUDA cooperative groups header": ("#include <cooperative_groups.h>\n", "KP201", 1),
    "cuBLAS header": ('#include "cublas_v2.h"\n', "KP210", 1),
    "CUB header": ("#include <cub/cub.cuh>\n", "KP210", 1),
    "hipCUB header": ("#include <hipcub/hipcub.hpp>\n", "KP210", 1),
    "builtin that HIP lacks": (
        "#include <hip/hip_runtime.h>\n__global__ void k(int* p) { p[0] = __dp4a(p[0], p[1], 0); }\n",
        "KP202",
        2,
    ),
    "CUDA runtime call": ("#include <hip/hip_runtime.h>\nvoid f(void** p) { cudaMalloc(p, 4); }\n", "KP202", 2),
    "directed rounding": (
        "#include <hip/hip_runtime.h>\n__global__ void k(float* p) { p[0] = __fadd_rz(p[0], p[1]); }\n",
        "KP202",
        2,
    ),
    "an ordinary mistake": ("#include <hip/hip_runtime.h>\n__global__ void k(int* p) { p[0] = missing; }\n", "", 2),
    "an ordinary missing header": ("#include <my_project/types.h>\n", "", 1),
    "an ordinary constant": ("int n = 3;\nconstexpr int m = n;\n", "", 2),
    "an ordinary assembler mistake": (
        '#include <hip/hip_runtime.h>\n__global__ void k() { asm volatile("v_no_such_thing v0, v1"); }\n',
        "",
        2,
    ),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_cause_of_a_real_compile(cause: str) -> None:
    source, code, line = CAUSES[cause]
    with pytest.raises(CompileFailed) as caught:
        compile_device_text(source, "gfx942", pip_toolchain(), name="mine.hip")
    first = errors(caught.value.messages)[0]
    assert (first.path, first.line, first.code) == ("mine.hip", line, code), str(first)


def test_places_severities_and_columns() -> None:
    said = (
        "a b.hip:3:7: warning: unused variable 'x' [-Wunused]\n    3 |   int x;\n      |       ^\n"
        "C:\\src\\k.hip:12:1: fatal error: too bad\n"
        "k.hip:9:2: error: no\nk.hip:2:1: note: declared here\n"
        "zig: error: no such option\nld.lld: error: undefined symbol: foo\n"
        "error: cannot open file 'x.bc'\n2 errors generated.\n"
    )
    parsed = parse_messages(said)
    assert [(m.path, m.line, m.column, m.severity) for m in parsed] == [
        ("a b.hip", 3, 7, "warning"),
        ("C:\\src\\k.hip", 12, 1, "error"),
        ("k.hip", 9, 2, "error"),
        ("k.hip", 2, 1, "note"),
        (None, 0, 0, "error"),
        (None, 0, 0, "error"),
        (None, 0, 0, "error"),
    ]
    assert str(parsed[2]) == "k.hip:9:2: error: no"
    assert len(errors(parsed)) == 5


def test_nothing_in_nothing_out() -> None:
    assert parse_messages("") == ()
    assert parse_messages("some chatter\nwithout a message\n") == ()


def test_error_in_a_toolchain_header_is_moved_to_the_include() -> None:
    said = (
        "In file included from mine.hip:4:\nIn file included from /opt/x/include/hip/a.h:2:\n"
        "/opt/x/include/hip/b.h:9:1: error: unknown type name 'q'\n"
    )
    assert parse_messages(said)[0].path == "/opt/x/include/hip/b.h"
    moved = parse_messages(said, ("/opt/x/include",))[0]
    assert (moved.path, moved.line) == ("mine.hip", 4)


def test_error_in_the_users_own_header_stays_there() -> None:
    said = "In file included from mine.hip:4:\nmine.h:9:1: error: unknown type name 'q'\n"
    assert parse_messages(said, ("/opt/x/include",))[0].path == "mine.h"


def test_undefined_symbols_once_each() -> None:
    said = (
        "ld.lld: error: undefined symbol: a(int)\n>>> referenced by x.o\n"
        "ld.lld: error: undefined hidden symbol: __b\nld.lld: error: undefined symbol: a(int)\n"
    )
    assert undefined_symbols(said) == ("a(int)", "__b")


def test_errors_with_their_notes_and_fix_its() -> None:
    said = (
        "a.cu:1:2: warning: unused\n"
        'fix-it:"a.cu":{1:2-1:3}:"no"\n'
        "a.cu:3:9: error: use 'template' keyword\n"
        "   3 | b.as<T>();\n"
        'fix-it:"a.cu":{3:5-3:5}:"template "\n'
        "a.cu:9:1: note: requested here\n"
        "a.cu:4:1: error: second\n"
    )
    first, second = read_diagnostics(said)
    assert (first.error.line, first.error.text) == (3, "use 'template' keyword")
    assert first.fixes == (FixIt("a.cu", 3, 5, 3, 5, "template "),)
    assert [note.line for note in first.notes] == [9]
    assert second.notes == () and second.fixes == ()
