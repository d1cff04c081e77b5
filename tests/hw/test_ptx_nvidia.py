"""PTX on a real NVIDIA GPU: the original asm and the C++ we write for it, side by side on the same operands.

The C++ is HIP; a few lines of CUDA stand in for HIP's names, at warp size 32.
"""

from __future__ import annotations

import math
import random
import re
import shutil
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernel_pytorch.port.names import simd_in_word
from tests.port.ptx import ptx_cases
from tests.port.ptx.ptx_cases import BITS, C_TYPES, Case

pytestmark = [pytest.mark.nvidia, pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on PATH")]

ROWS = 4096

PRELUDE = r"""
#include <cstdio>
#include <cstdint>
#include <cstring>
#include <vector>
#include <cuda_fp16.h>
#define __HIP_MEMORY_SCOPE_WORKGROUP 0
#define __HIP_MEMORY_SCOPE_AGENT 1
#define __HIP_MEMORY_SCOPE_SYSTEM 2
static __device__ unsigned __lane_id() { unsigned r; asm("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }
#define __ballot(p) ((unsigned long long)__ballot_sync(__activemask(), (p)))
#define __shfl(v, l, w) __shfl_sync(0xffffffffu, v, l, w)
#define __shfl_up(v, l, w) __shfl_up_sync(0xffffffffu, v, l, w)
#define __shfl_down(v, l, w) __shfl_down_sync(0xffffffffu, v, l, w)
#define __shfl_xor(v, l, w) __shfl_xor_sync(0xffffffffu, v, l, w)
#define __match_any(v) ((unsigned long long)__match_any_sync(__activemask(), (v)))
#define __builtin_prefetch(p) ((void)(p))
// CUDA's half types are not trivially copyable, HIP's are.
template <typename T, typename U> static __device__ T bits_as(U u) { T t; memcpy(&t, &u, sizeof(T)); return t; }
#define __builtin_bit_cast(T, x) bits_as<T>(x)
"""

_SHUFFLES = (
    ("up", "0"), ("down", "0x1f"), ("bfly", "0x1f"), ("idx", "0x1f"),
    ("up", "0x1000"), ("down", "0x101f"), ("bfly", "0x181f"), ("idx", "0x181f"),
)  # fmt: skip
_WITH_PREDICATE = (
    "{{ .reg .pred p; .reg .u32 v; shfl.sync.{}.b32 v|p, %1, %2, {}, 0xffffffff; selp.u32 %0, v, 0x55, p; }}"
)
_VOTE = "{{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.{}.pred q, p, 0xffffffff; selp.u32 %0, 1, 0, q; }}"

# Whole-warp blocks: i0, i1 are the operands of this lane, o0 its result.
WARP_CASES = [
    Case("mov.u32 %0, %%laneid;", "r", ""),
    *[Case(f"mov.u32 %0, %%lanemask_{test};", "r", "") for test in ("eq", "lt", "le", "gt", "ge")],
    *[Case(f"mov.u32 %0, %%{name}.{axis};", "r", "") for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"],
    Case("activemask.b32 %0;", "r", ""),
    *[Case(f"shfl.sync.{mode}.b32 %0, %1, %2, {clamp}, 0xffffffff;", "r", "rr", "lane") for mode, clamp in _SHUFFLES],
    *[Case(_WITH_PREDICATE.format(mode, clamp), "r", "rr", "lane") for mode, clamp in _SHUFFLES],
    Case("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }", "r", "r", "small"),
    *[Case(_VOTE.format(test), "r", "r", "small") for test in ("any", "all")],
    Case("match.any.sync.b32 %0, %1, 0xffffffff;", "r", "r", "small"),
    Case("{ .reg .pred p; setp.ne.u32 p, %1, 0; bar.red.popc.u32 %0, 0, p; }", "r", "r", "small"),
]

_HINTS = ("", ".nc", ".cg", ".cs", ".ca", ".cv", ".L1::no_allocate", ".L2::128B")

# Loads: P is a pointer to 16 bytes of this lane, S the shared address of a slot with the same bytes.
MEMORY_CASES = [
    *[Case(f"ld.global{hint}.u32 %0, [%1];", "r", "P") for hint in _HINTS],
    Case("ld.volatile.global.u32 %0, [%1+4];", "r", "P"),
    *[Case(f"ld.global.{kind} %0, [%1+3];", "r", "P") for kind in ("u8", "s8")],
    *[Case(f"ld.global.{kind} %0, [%1+2];", "r", "P") for kind in ("u16", "s16")],
    Case("ld.global.nc.v2.u32 {%0, %1}, [%2];", "rr", "P"),
    Case("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];", "ffff", "P"),
    Case("ld.global.v2.u64 {%0, %1}, [%2];", "ll", "P"),
    Case("ld.shared.u32 %0, [%1];", "r", "S"),
    Case("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];", "rrrr", "S"),
    Case("ld.volatile.shared.v2.u32 {%0, %1}, [%2+8];", "rr", "S"),
]

# 16-bit floats travel as bits; the operands are finite ones.
HALF_CASES = [
    *[Case(f"{op}.rn.f16x2 %0, %1, %2;", "r", "rr", "halves") for op in ("add", "sub", "mul")],
    Case("fma.rn.f16x2 %0, %1, %2, %3;", "r", "rrr", "halves"),
    *[Case(f"{op}.rn.f16 %0, %1, %2;", "h", "hh", "halves") for op in ("add", "sub", "mul")],
    Case("neg.f16x2 %0, %1;", "r", "r", "halves"),
    Case("cvt.f32.f16 %0, %1;", "f", "h", "halves"),
    Case("cvt.rn.f16.f32 %0, %1;", "h", "f", "small"),
]


@dataclass(frozen=True)
class Outcome:
    """One case on the GPU: how many operand rows were tried and the first that differed."""

    template: str
    rows: int
    difference: str


def on_nvidia(text: str) -> str:
    """HIP's shared-memory pointers in CUDA's terms."""
    text = re.sub(
        r"\(__attribute__\(\(address_space\(3\)\)\) ((?:const |volatile )?[\w ]+)\*\)\(",
        r"(\1*)__cvta_shared_to_generic(",
        text,
    )
    return text.replace("const auto kpt_v0 = (", "auto kpt_v0 = (")


def kernel(case: Case, number: int, body: str, form: str) -> str:
    lines = [
        f"__global__ void {form}{number}(const unsigned long long* in, unsigned long long* out, const uint4* memory) {{"
    ]
    lines.append("  unsigned at = blockIdx.x * blockDim.x + threadIdx.x;")
    lines.append(f"  const unsigned long long* row = in + (size_t)at * {max(1, len(case.inputs))}; (void)row;")
    lines.append("  __shared__ uint4 slots[64]; slots[threadIdx.x % 64] = memory[at % 64]; __syncthreads();")
    for index, kind in enumerate(case.inputs):
        if kind == "P":
            lines.append(f"  const char* i{index} = (const char*)(memory + at % 64);")
        elif kind == "S":
            lines.append(f"  unsigned i{index} = (unsigned)__cvta_generic_to_shared(&slots[threadIdx.x % 64]);")
        else:
            lines.append(f"  {C_TYPES[kind]} i{index}; memcpy(&i{index}, row + {index}, {BITS[kind] // 8});")
    lines += [f"  {C_TYPES[kind]} o{index} = 0;" for index, kind in enumerate(case.outputs)]
    lines.append(f"  {body}")
    for index, kind in enumerate(case.outputs):
        lines.append(f"  unsigned long long w{index} = 0; memcpy(&w{index}, &o{index}, {BITS[kind] // 8});")
        lines.append(f"  out[(size_t)at * {len(case.outputs)} + {index}] = w{index};")
    return "\n".join([*lines, "}"])


def program(cases: list[Case], rows: int) -> str:
    parts = [PRELUDE]
    for number, case in enumerate(cases):
        asm = case.asm.replace('"P"', '"l"').replace('"S"', '"r"')
        parts.append(kernel(case, number, asm, "ptx"))
        parts.append(kernel(case, number, on_nvidia(_replacement(case)), "cpp"))
    calls = []
    for number, case in enumerate(cases):
        width, count = max(1, len(case.inputs)), len(case.outputs)
        calls.append(
            f"  run(ptx{number}, {number}, {width}, {count}, input, output);\n"
            f"  run(cpp{number}, {number}, {width}, {count}, input, output);"
        )
    parts.append(MAIN.replace("ROWS", str(rows)).replace("CALLS", "\n".join(calls)))
    return "\n".join(parts)


def _replacement(case: Case) -> str:
    changed = Case(
        case.template, case.outputs, case.inputs.replace("P", "l").replace("S", "r"), case.values, case.relative
    )
    return changed.cpp


MAIN = r"""
typedef void (*Kernel)(const unsigned long long*, unsigned long long*, const uint4*);
static void run(Kernel kernel, int number, int width, int count, FILE* input, FILE* output) {
  static int last = -1; static std::vector<unsigned long long> host;
  if (number != last) {
    host.resize((size_t)ROWS * width);
    if (fread(host.data(), 8, host.size(), input) != host.size()) { printf("short input\n"); exit(2); }
    last = number;
  }
  unsigned long long *in, *out; uint4* memory;
  cudaMalloc(&in, host.size() * 8); cudaMalloc(&out, (size_t)ROWS * count * 8); cudaMalloc(&memory, 64 * 16);
  std::vector<unsigned> words(256); for (int i = 0; i < 256; ++i) words[i] = 0x9e3779b9u * (i + 1);
  cudaMemcpy(in, host.data(), host.size() * 8, cudaMemcpyHostToDevice);
  cudaMemcpy(memory, words.data(), 64 * 16, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, (size_t)ROWS * count * 8);
  kernel<<<ROWS / 64, 64>>>(in, out, memory);
  cudaError_t status = cudaDeviceSynchronize();
  if (status != cudaSuccess) { printf("case %d: %s\n", number, cudaGetErrorString(status)); exit(2); }
  std::vector<unsigned long long> back((size_t)ROWS * count);
  cudaMemcpy(back.data(), out, back.size() * 8, cudaMemcpyDeviceToHost);
  fwrite(back.data(), 8, back.size(), output);
  cudaFree(in); cudaFree(out); cudaFree(memory);
}
int main(int argc, char** argv) {
  FILE* input = fopen(argv[1], "rb"); FILE* output = fopen(argv[2], "wb");
CALLS
  fclose(output); return 0;
}
"""


def rows_for(case: Case, rows: int) -> list[tuple[int, ...]]:
    if case.values == "lane":
        made = ptx_cases.operands(Case(case.template, case.outputs, case.inputs), rows)
        return [(first, second & 31) for first, second in made]
    if case.values == "small":
        return [
            tuple(value % 3 for value in row)
            for row in ptx_cases.operands(Case(case.template, case.outputs, case.inputs), rows)
        ]
    if set(case.inputs) & set("PS"):
        return [(0,) * len(case.inputs)] * rows
    return ptx_cases.operands(case, rows)


def _halves(source: random.Random, kind: str) -> int:
    parts = [struct.unpack("<H", struct.pack("<e", source.uniform(-8, 8)))[0] for _ in range(2)]
    return int(parts[0] | parts[1] << 16) if kind == "r" else int(parts[0])


def compare(cases: list[Case], rows: int = ROWS) -> list[Outcome]:
    """Both forms of every case on the GPU."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cases.cu").write_text(program(cases, rows))
        build = [
            "nvcc",
            "-std=c++17",
            "-O2",
            "-w",
            "-arch=native",
            "--fmad=false",
            "-o",
            str(folder / "cases"),
            str(folder / "cases.cu"),
        ]
        subprocess.run(build, check=True)
        operand_rows = [rows_for(case, rows) for case in cases]
        with (folder / "in.bin").open("wb") as stream:
            for case, values in zip(cases, operand_rows, strict=True):
                width = max(1, len(case.inputs))
                stream.write(b"".join(struct.pack(f"<{width}Q", *(row or (0,))) for row in values))
        subprocess.run([str(folder / "cases"), str(folder / "in.bin"), str(folder / "out.bin")], check=True)
        data = memoryview((folder / "out.bin").read_bytes()).cast("Q")
        outcomes = []
        position = 0
        for case, values in zip(cases, operand_rows, strict=True):
            size = rows * len(case.outputs)
            ptx, cpp = data[position : position + size], data[position + size : position + 2 * size]
            position += 2 * size
            outcomes.append(Outcome(case.template, rows, difference(case, values, ptx, cpp)))
        return outcomes


def difference(case: Case, rows: list[tuple[int, ...]], ptx: memoryview, cpp: memoryview) -> str:
    count = len(case.outputs)
    for index, (a, b) in enumerate(zip(ptx, cpp, strict=True)):
        kind = case.outputs[index % count]
        if a != b and not close(a, b, kind, case):
            return f"operands {[hex(value) for value in rows[index // count]]}: PTX {a:#x}, C++ {b:#x}"
    return ""


def close(a: int, b: int, kind: str, case: Case) -> bool:
    if kind not in "fd":
        return False
    x, y = (
        struct.unpack("<f" if kind == "f" else "<d", value.to_bytes(BITS[kind] // 8, "little"))[0] for value in (a, b)
    )
    if math.isnan(x) and math.isnan(y):
        return True
    if case.template.startswith(("min", "max")) and x == y:
        return True
    return case.relative > 0 and abs(x - y) <= case.relative * max(abs(x), 1e-30)


def simd_program(rows: int) -> str:
    """CUDA's own SIMD-in-a-word intrinsics against our definitions of them."""
    parts = [PRELUDE]
    checks = []
    for name in simd_in_word.all_names():
        text = simd_in_word.definition(name) or ""
        parts.append(text.replace(f" {name}(", f" ours{name}("))
        unary = ", unsigned b" not in text
        arguments = "a" if unary else "a, b"
        checks.append(
            f"  if ({name}({arguments}) != ours{name}({arguments})) "
            f'printf("{name} %08x %08x: %08x %08x\\n", a, b, {name}({arguments}), ours{name}({arguments}));'
        )
    body = "\n".join(checks)
    return "\n".join(parts) + (
        "\n__global__ void all(unsigned seed) {\n  unsigned x = seed + blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16; unsigned a = x;\n"
        "  x += 0x9e3779b9u; x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16;\n"
        "  unsigned b = x;\n"
        "  unsigned e[8] = {0u, 0x80008000u, 0x7fff7fffu, 0xffffffffu,\n"
        "                   0x80808080u, 0x7f7f7f7fu, 0x00010001u, 0x01010101u};\n"
        "  if (threadIdx.x < 64 && blockIdx.x == 0) { a = e[threadIdx.x / 8]; b = e[threadIdx.x % 8]; }\n"
        f"{body}\n}}\n"
        f"int main() {{ all<<<{rows} / 256, 256>>>(12345u); return cudaDeviceSynchronize() != cudaSuccess; }}\n"
    )


def simd_differences(rows: int = 1 << 16) -> str:
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "simd.cu"
        source.write_text(simd_program(rows))
        subprocess.run(
            ["nvcc", "-std=c++17", "-w", "-arch=native", "-o", str(Path(name) / "simd"), str(source)], check=True
        )
        return subprocess.run([str(Path(name) / "simd")], check=True, capture_output=True, text=True).stdout


def all_cases() -> list[Case]:
    return ptx_cases.integer_cases() + ptx_cases.float_cases() + WARP_CASES + MEMORY_CASES + HALF_CASES


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    return {outcome.template: outcome for outcome in compare(all_cases())}


@pytest.mark.parametrize("template", sorted({case.template for case in all_cases()}))
def test_same_result(outcomes: dict[str, Outcome], template: str) -> None:
    assert outcomes[template].difference == ""


def test_simd_in_word() -> None:
    assert simd_differences() == ""
