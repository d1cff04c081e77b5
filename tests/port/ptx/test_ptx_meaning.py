"""The C++ we write for PTX, compiled for the host and compared with a model of the PTX on random and edge operands."""

from __future__ import annotations

import ctypes
import math
import shutil
import struct
import subprocess

import pytest

from kernel_pytorch.port.ptx import logic3
from tests.port.ptx import ptx_cases, ptx_model
from tests.port.ptx.ptx_cases import BITS, C_TYPES, Case

ROWS = 400

# The intrinsics our C++ uses, as CUDA documents them.
PRELUDE = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
using std::isfinite; using std::isinf; using std::isnan;
static unsigned __float_as_uint(float x) { unsigned r; memcpy(&r, &x, 4); return r; }
static float __uint_as_float(unsigned x) { float r; memcpy(&r, &x, 4); return r; }
static long long __double_as_longlong(double x) { long long r; memcpy(&r, &x, 8); return r; }
static double __longlong_as_double(long long x) { double r; memcpy(&r, &x, 8); return r; }
static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static int __clz(int x) { return x ? __builtin_clz(x) : 32; }
static int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
typedef unsigned long long u64;
static u64 __brevll(u64 x) { u64 r = 0; for (int i = 0; i < 64; ++i) r |= ((x >> i) & 1) << (63 - i); return r; }
static unsigned __brev(unsigned x) { return (unsigned)(__brevll(x) >> 32); }
static unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
static int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
static u64 __umul64hi(u64 a, u64 b) { return (u64)(((unsigned __int128)a * b) >> 64); }
static long long __mul64hi(long long a, long long b) { return (long long)(((__int128)a * b) >> 64); }
static int low24(int x) { return (int)((unsigned)x << 8) >> 8; }
static int __mul24(int a, int b) { return (int)((unsigned)low24(a) * (unsigned)low24(b)); }
static unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
static unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  unsigned long long both = ((unsigned long long)b << 32) | a; unsigned r = 0;
  for (int i = 0; i < 4; ++i) r |= (unsigned)((both >> (8 * ((s >> (4 * i)) & 7))) & 0xff) << (8 * i);
  return r;
}
static float __fadd_rn(float a, float b) { return a + b; }
static float __fsub_rn(float a, float b) { return a - b; }
static float __fmul_rn(float a, float b) { return a * b; }
static double __dadd_rn(double a, double b) { return a + b; }
static double __dsub_rn(double a, double b) { return a - b; }
static double __dmul_rn(double a, double b) { return a * b; }
static float rsqrtf(float x) { return 1.0f / sqrtf(x); }
#define __sinf sinf
#define __cosf cosf
#define __log2f log2f
static float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
static int __float2int_rn(float x) { return (int)rintf(x); }
static int __float2int_rz(float x) { return (int)truncf(x); }
static int __float2int_rd(float x) { return (int)floorf(x); }
static int __float2int_ru(float x) { return (int)ceilf(x); }
static unsigned __float2uint_rz(float x) { return (unsigned)x; }
"""


def host_compiler() -> list[str]:
    for name in ("c++", "g++", "clang++"):
        found = shutil.which(name)
        if found:
            return [found]
    pytest.skip("no host C++ compiler (c++, g++ or clang++) on PATH")


def function_text(case: Case, number: int) -> str:
    """Operands come and go as 64-bit words."""
    lines = [f'extern "C" void f{number}(const uint64_t* in, uint64_t* out) {{']
    for index, kind in enumerate(case.inputs):
        lines.append(f"  {C_TYPES[kind]} i{index}; memcpy(&i{index}, in + {index}, {BITS[kind] // 8});")
    lines += [f"  {C_TYPES[kind]} o{index} = 0;" for index, kind in enumerate(case.outputs)]
    lines.append(f"  {case.cpp}")
    lines += [
        f"  out[{index}] = 0; memcpy(out + {index}, &o{index}, {BITS[kind] // 8});"
        for index, kind in enumerate(case.outputs)
    ]
    return "\n".join([*lines, "}"])


CASES = ptx_cases.integer_cases() + ptx_cases.float_cases()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("ptx")
    source = folder / "cases.cpp"
    source.write_text(PRELUDE + "\n".join(function_text(case, number) for number, case in enumerate(CASES)))
    built = folder / "cases.so"
    # -fno-strict-overflow is not given: the C++ must not lean on signed overflow.
    command = [
        *host_compiler(),
        "-std=c++17",
        "-O2",
        "-fPIC",
        "-shared",
        "-ffp-contract=off",
        "-w",
        str(source),
        "-o",
        str(built),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    return ctypes.CDLL(str(built))


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: CASES[number].template.replace(" ", "_"))
def test_meaning(library: ctypes.CDLL, number: int) -> None:
    case = CASES[number]
    function = library[f"f{number}"]
    for row in ptx_cases.operands(case, ROWS):
        arguments = (ctypes.c_uint64 * max(1, len(row)))(*row)
        results = (ctypes.c_uint64 * len(case.outputs))()
        function(arguments, results)
        expected = ptx_model.run(case.template, case.outputs, case.inputs, row)
        for got, want, kind in zip(results, expected, case.outputs, strict=True):
            assert agree(got, want, kind, case), (
                f"{case.template} of {[hex(v) for v in row]}: {got:#x}, PTX gives {want:#x}\n{case.cpp}"
            )


def agree(got: int, want: int, kind: str, case: Case) -> bool:
    if got == want:
        return True
    if kind not in "fd":
        return False
    a, b = (
        struct.unpack("<f" if kind == "f" else "<d", value.to_bytes(BITS[kind] // 8, "little"))[0]
        for value in (got, want)
    )
    if math.isnan(a) and math.isnan(b):
        return True
    if case.template.startswith(("min", "max")) and a == b:
        return True  # which zero: PTX orders them, C++ does not
    return case.relative > 0 and abs(a - b) <= case.relative * max(abs(b), 1e-30)


def test_every_table_of_lop3() -> None:
    for table, text in logic3.expressions().items():
        names = {"a": 0xF0, "b": 0xCC, "c": 0xAA}
        value = eval(text.format(a="a", b="b", c="c").replace("0u", "0"), {"__builtins__": {}}, names)
        assert value & 0xFF == table, text


def test_the_model_can_fail() -> None:
    """The comparison is real: a wrong formula is caught."""
    row = (0x80000000, 31, 1)
    assert ptx_model.run("bfe.u32 %0, %1, %2, %3;", "r", "rrr", row) == (1,)
    assert ptx_model.run("bfe.s32 %0, %1, %2, %3;", "r", "rrr", row) == (0xFFFFFFFF,)
    assert not agree(1, 0xFFFFFFFF, "r", CASES[0])
