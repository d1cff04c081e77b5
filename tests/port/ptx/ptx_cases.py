"""PTX blocks that compute, with operands to try them on. Shared by the host test and the one on an NVIDIA GPU."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass

from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.ptx.asm_statement import asm_statements
from kernel_pytorch.port.ptx.lower import Context
from kernel_pytorch.port.ptx.rewrite import rewrite_asm

C_TYPES = {"r": "unsigned", "l": "unsigned long long", "h": "unsigned short", "f": "float", "d": "double"}
BITS = {"r": 32, "l": 64, "h": 16, "f": 32, "d": 64}


@dataclass(frozen=True)
class Case:
    """One block. `outputs` and `inputs` are constraint letters; `values` names a family of operands to try.

    `relative` is the error a floating-point result may have; 0 means the same bits.
    """

    template: str
    outputs: str
    inputs: str
    values: str = "bits"
    relative: float = 0.0

    @property
    def asm(self) -> str:
        """The C++ statement with the PTX in it."""
        outs = ", ".join(f'"={kind}"(o{index})' for index, kind in enumerate(self.outputs))
        ins = ", ".join(f'"{kind}"(i{index})' for index, kind in enumerate(self.inputs))
        return f'asm volatile("{self.template}" : {outs} : {ins});'

    @property
    def cpp(self) -> str:
        """The C++ statement our translation makes of it."""
        (statement,) = asm_statements(CxxFile("case.cu", self.asm.encode(), "cuda"))
        translation = rewrite_asm(statement, Context())
        if translation.replacement is None:
            raise AssertionError(f"{self.template}: {translation.obstacle}")
        return f"{translation.replacement};"


def _three(name: str, kind: str = "r", **options: object) -> Case:
    return Case(f"{name} %0, %1, %2;", kind, kind * 2, **options)  # type: ignore[arg-type]


def _two(name: str, out: str = "r", source: str = "r", **options: object) -> Case:
    return Case(f"{name} %0, %1;", out, source, **options)  # type: ignore[arg-type]


def integer_cases() -> list[Case]:
    """Exact: the same bits on every operand."""
    cases = [
        _three(f"{op}.{kind}", letter)
        for op in ("add", "sub", "min", "max", "mul.lo")
        for kind, letter in (("u32", "r"), ("s32", "r"), ("u64", "l"), ("s64", "l"), ("u16", "h"), ("s16", "h"))
    ]
    cases += [
        _three(f"mul.hi.{kind}", letter) for kind, letter in (("u32", "r"), ("s32", "r"), ("u64", "l"), ("s64", "l"))
    ]
    cases += [
        Case(f"mul.wide.{kind} %0, %1, %2;", out, letter * 2)
        for kind, letter, out in (("u32", "r", "l"), ("s32", "r", "l"), ("u16", "h", "r"), ("s16", "h", "r"))
    ]
    cases += [
        Case(f"mad.{form}.{kind} %0, %1, %2, %3;", letter, letter * 3)
        for form in ("lo", "hi")
        for kind, letter in (("u32", "r"), ("s32", "r"), ("u64", "l"), ("s64", "l"))
    ]
    cases += [Case(f"mad.wide.{kind} %0, %1, %2, %3;", "l", "rrl") for kind in ("u32", "s32")]
    cases += [_three(f"{op}24.lo.{kind}") for op in ("mul",) for kind in ("u32", "s32")]
    cases += [Case(f"mad24.lo.{kind} %0, %1, %2, %3;", "r", "rrr") for kind in ("u32", "s32")]
    cases += [_three("add.sat.s32"), _three("sub.sat.s32")]
    cases += [
        _three(f"{op}.b{bits}", letter)
        for op in ("and", "or", "xor")
        for bits, letter in ((16, "h"), (32, "r"), (64, "l"))
    ]
    cases += [
        _two(f"{op}.b{bits}", letter, letter)
        for op in ("not", "cnot")
        for bits, letter in ((16, "h"), (32, "r"), (64, "l"))
    ]
    cases += [
        Case(f"{op} %0, %1, %2;", letter, letter + "r", "shift")
        for op, letter in (
            ("shl.b32", "r"),
            ("shl.b64", "l"),
            ("shl.b16", "h"),
            ("shr.u32", "r"),
            ("shr.s32", "r"),
            ("shr.u64", "l"),
            ("shr.s64", "l"),
            ("shr.b32", "r"),
            ("shr.u16", "h"),
            ("shr.s16", "h"),
        )
    ]
    cases += [
        Case(f"shf.{way}.{mode}.b32 %0, %1, %2, %3;", "r", "rrr", "shift") for way in "lr" for mode in ("wrap", "clamp")
    ]
    cases += [
        Case("shr.s32 %0, %1, 7;", "r", "r"),
        Case("shl.b32 %0, %1, 33;", "r", "r"),
        Case("shr.u64 %0, %1, 40;", "l", "l"),
    ]
    cases += [
        _two(f"{op}.{kind}", letter, letter)
        for op in ("abs", "neg")
        for kind, letter in (("s16", "h"), ("s32", "r"), ("s64", "l"))
    ]
    cases += [Case(f"sad.{kind} %0, %1, %2, %3;", "r", "rrr") for kind in ("u32", "s32")]
    cases += [_two(f"{op}.b32") for op in ("popc", "clz", "brev")]
    cases += [_two("popc.b64", "r", "l"), _two("clz.b64", "r", "l"), _two("brev.b64", "l", "l")]
    cases += [
        _two(f"bfind{how}.{kind}", "r", letter)
        for how in ("", ".shiftamt")
        for kind, letter in (("u32", "r"), ("s32", "r"), ("u64", "l"), ("s64", "l"))
    ]
    cases += [
        Case(f"bfe.{kind} %0, %1, %2, %3;", letter, letter + "rr", "field")
        for kind, letter in (("u32", "r"), ("s32", "r"), ("u64", "l"), ("s64", "l"))
    ]
    cases += [
        Case("bfe.s32 %0, %1, 3, 9;", "r", "r"),
        Case("bfe.u64 %0, %1, 17, 40;", "l", "l"),
        Case("bfe.u32 %0, %1, 28, 8;", "r", "r"),
    ]
    cases += [
        Case("bfi.b32 %0, %1, %2, %3, %4;", "r", "rrrr", "field"),
        Case("bfi.b64 %0, %1, %2, %3, %4;", "l", "llrr", "field"),
    ]
    cases += [
        Case(f"lop3.b32 %0, %1, %2, %3, 0x{table:02x};", "r", "rrr")
        for table in (0x96, 0xE8, 0xCA, 0x1B, 0x40, 0xB8, 0xFE, 0x80, 0, 0xFF)
    ]
    cases += [Case("prmt.b32 %0, %1, %2, %3;", "r", "rrr")]
    cases += [
        Case(f"prmt.b32 %0, %1, %2, 0x{selector:04x};", "r", "rr")
        for selector in (0x5410, 0x7632, 0x0123, 0x8A10, 0xFFFF)
    ]
    cases += [Case(f"dp4a.{a}.{b} %0, %1, %2, %3;", "r", "rrr") for a in ("u32", "s32") for b in ("u32", "s32")]
    cases += [
        Case(f"dp2a.{half}.{a}.{b} %0, %1, %2, %3;", "r", "rrr")
        for half in ("lo", "hi")
        for a in ("u32", "s32")
        for b in ("u32", "s32")
    ]
    cases += [
        Case(f"{op}.{kind} %0, %1, %2;", letter, letter * 2, "nonzero")
        for op in ("div", "rem")
        for kind, letter in (("u32", "r"), ("u64", "l"))
    ]
    cases += [
        Case(f"vshr.u32.u32.u32.{mode}.add %0, %1, %2, %3;", "r", "rrr", "shift-middle") for mode in ("clamp", "wrap")
    ]
    cases += [
        Case(f"vshl.u32.u32.u32.{mode}.add %0, %1, %2, %3;", "r", "rrr", "shift-middle") for mode in ("clamp", "wrap")
    ]
    return cases + _carry_cases() + _move_cases()


def _carry_cases() -> list[Case]:
    three_words = "add.cc.u32 %0, %3, %6; addc.cc.u32 %1, %4, %7; addc.u32 %2, %5, %8;"
    return [
        Case("add.cc.u32 %0, %2, %4; addc.u32 %1, %3, %5;", "rr", "rrrr", "carry"),
        Case("add.cc.u64 %0, %2, %4; addc.u64 %1, %3, %5;", "ll", "llll", "carry"),
        Case(three_words, "rrr", "rrrrrr", "carry"),
        Case(three_words.replace("add", "sub"), "rrr", "rrrrrr", "carry"),
        Case("sub.cc.u64 %0, %2, %4; subc.u64 %1, %3, %5;", "ll", "llll", "carry"),
        Case("mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, %5;", "rr", "rrrr", "carry"),
        Case("mad.lo.cc.u64 %0, %2, %3, %4; madc.hi.u64 %1, %2, %3, %5;", "ll", "llll", "carry"),
        Case(
            "{ .reg .u32 t; mul.hi.u32 t, %2, %3; mad.lo.cc.u32 %0, %2, %3, %4; addc.u32 %1, t, 0; }",
            "rr",
            "rrr",
            "carry",
        ),
    ]


def _move_cases() -> list[Case]:
    return [
        Case("mov.b64 %0, {%1, %2};", "l", "rr"),
        Case("mov.b64 {%0, %1}, %2;", "rr", "l"),
        Case("mov.b32 %0, {%1, %2};", "r", "hh"),
        Case("mov.b32 {%0, %1}, %2;", "hh", "r"),
        Case("mov.b32 %0, %1;", "r", "f"),
        Case("mov.b32 %0, %1;", "f", "r", "float-bits"),
        Case("mov.b64 %0, %1;", "l", "d"),
        Case("mov.u32 %0, 0x80000000;", "r", ""),
        Case("mov.s32 %0, -2147483648;", "r", ""),
        Case("{ .reg .pred p; setp.lt.s32 p, %1, %2; selp.s32 %0, %1, %2, p; }", "r", "rr"),
        Case("{ .reg .pred p, q; setp.ge.u32 p|q, %1, %2; selp.u32 %0, 1, 2, q; }", "r", "rr"),
        Case("{ .reg .pred p; setp.ne.b32 p, %1, 0; mov.u32 %0, 7; @!p mov.u32 %0, 9; }", "r", "r"),
        Case(
            "{ .reg .pred p, q; setp.eq.u32 p, %1, 3; setp.hi.and.u32 q, %2, 4, p; selp.b32 %0, %1, %2, q; }", "r", "rr"
        ),
        Case("slct.u32.s32 %0, %1, %2, %3;", "r", "rrr"),
        Case("set.gt.u32.s32 %0, %1, %2;", "r", "rr"),
        Case("cvt.s32.s8 %0, %1;", "r", "r"),
        Case("cvt.u32.u8 %0, %1;", "r", "r"),
        Case("cvt.u32.u16 %0, %1;", "r", "h"),
        Case("cvt.s64.s32 %0, %1;", "l", "r"),
        Case("cvt.u32.u64 %0, %1;", "r", "l"),
        Case("cvt.sat.u8.s32 %0, %1;", "r", "r"),
        Case("cvt.sat.s16.s32 %0, %1;", "r", "r"),
        Case("cvt.rna.tf32.f32 %0, %1;", "r", "f", "float"),
        Case("cvt.rn.bf16x2.f32 %0, %1, %2;", "r", "ff", "float-nan"),
        Case("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;", "r", "rrr"),
        Case("cvt.pack.sat.s8.s32.b32 %0, %1, %2, 0;", "r", "rr"),
        Case("cvt.pack.sat.u16.s32 %0, %1, %2;", "r", "rr"),
        Case("cvt.pack.sat.s16.s32 %0, %1, %2;", "r", "rr"),
        Case("{ .reg .b32 a; xor.b32 a, %1, %2; .reg .b32 b; and.b32 b, a, 0xff00ff00; or.b32 %0, b, 1; }", "r", "rr"),
    ]


def float_cases() -> list[Case]:
    """Floating point: exact where PTX rounds to nearest, within a bound where it approximates."""
    cases = [
        _three(f"{op}.rn.{kind}", letter, values="float")
        for op in ("add", "sub", "mul", "div")
        for kind, letter in (("f32", "f"), ("f64", "d"))
    ]
    cases += [
        Case(f"fma.rn.{kind} %0, %1, %2, %3;", letter, letter * 3, "float")
        for kind, letter in (("f32", "f"), ("f64", "d"))
    ]
    cases += [
        _three(f"{op}.{kind}", letter, values="float")
        for op in ("min", "max")
        for kind, letter in (("f32", "f"), ("f64", "d"))
    ]
    cases += [
        _two(f"{op}.{kind}", letter, letter, values="float")
        for op in ("abs", "neg")
        for kind, letter in (("f32", "f"), ("f64", "d"))
    ]
    cases += [
        _three("copysign.f32", "f", values="float"),
        _two("sqrt.rn.f32", "f", "f", values="positive"),
        _two("rcp.rn.f32", "f", "f", values="positive"),
    ]
    cases += [
        _two(f"{op}.approx{ftz}.f32", "f", "f", values=values, relative=2e-6)
        for ftz in ("", ".ftz")
        for op, values in (("sqrt", "positive"), ("rsqrt", "positive"), ("rcp", "positive"), ("ex2", "small"))
    ]
    cases += [
        _two("lg2.approx.f32", "f", "f", values="above-two", relative=2e-5),
        _two("tanh.approx.f32", "f", "f", values="small", relative=2e-3),
    ]
    cases += [_two(f"{op}.approx.f32", "f", "f", values="angle", relative=1e-3) for op in ("sin", "cos")]
    cases += [
        _two(f"cvt.{mode}.{to}.f32", "r", "f", values="small")
        for mode in ("rni", "rzi", "rmi", "rpi")
        for to in ("s32",)
    ]
    cases += [
        _two("cvt.rzi.u32.f32", "r", "f", values="positive-small"),
        _two("cvt.rn.f32.s32", "f", "r"),
        _two("cvt.rn.f32.u32", "f", "r"),
    ]
    cases += [
        _two("cvt.rn.f64.s32", "d", "r"),
        _two("cvt.rn.f32.f64", "f", "d", values="float"),
        _two("cvt.f64.f32", "d", "f", values="float"),
    ]
    cases += [_two(f"cvt.{mode}.f32.f32", "f", "f", values="small") for mode in ("rni", "rzi", "rmi", "rpi")]
    cases += [_two("cvt.sat.f32.f32", "f", "f", values="small")]
    cases += [
        Case(f"{{ .reg .pred p; setp.{test}.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }}", "r", "ff", "float-nan")
        for test in ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
    ]
    cases += [
        Case(f"{{ .reg .pred p; testp.{test}.f32 p, %1; selp.u32 %0, 1, 0, p; }}", "r", "f", "float-nan")
        for test in ("finite", "infinite", "notanumber", "number")
    ]
    return cases


_EDGES = (
    0,
    1,
    2,
    31,
    32,
    33,
    63,
    64,
    0x7F,
    0x80,
    0xFF,
    0x100,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    0x100000000,
    0x7FFFFFFFFFFFFFFF,
    0x8000000000000000,
    0xFFFFFFFFFFFFFFFF,
    0x0123456789ABCDEF,
)


def operands(case: Case, count: int, seed: int = 1) -> list[tuple[int, ...]]:
    """Rows of operand bits: edges against edges first, then random ones."""
    source = random.Random(f"{case.template}/{seed}")
    return [tuple(_bits(case, source, position, row) for position in range(len(case.inputs))) for row in range(count)]


def _bits(case: Case, source: random.Random, position: int, row: int) -> int:
    kind = case.inputs[position]
    width = BITS[kind]
    if kind in "fd" and case.values != "bits":
        return _float_bits(case.values, source, kind)
    if case.values == "float-bits":
        return _float_bits("float", source, "f")
    last = position == len(case.inputs) - 1
    if (case.values == "shift" and last) or (case.values == "shift-middle" and position == 1):
        return source.choice((*range(70), 255, 256, 0x80000000, 0xFFFFFFFF))
    if case.values == "field" and position >= len(case.inputs) - 2:
        return source.choice((*range(70), 200, 255))  # PTX restricts both to 0..255
    value = source.choice(_EDGES) if row % 2 == 0 else source.getrandbits(64) >> source.randrange(64)
    if case.values == "nonzero" and last:
        value = value | 1
    return value & ((1 << width) - 1)


def _float_bits(family: str, source: random.Random, kind: str) -> int:
    special = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.0, 1e10, -1e10)
    if family == "float-nan" and source.random() < 0.3:
        value = source.choice((float("nan"), float("inf"), float("-inf")))
    elif family in ("float", "float-nan"):
        value = (
            source.choice(special) if source.random() < 0.3 else source.uniform(-1, 1) * 10.0 ** source.randint(-15, 15)
        )
    elif family == "positive":
        value = source.uniform(0.5, 1) * 10.0 ** source.randint(-15, 15)
    elif family == "above-two":
        value = source.uniform(2, 1e6)
    elif family == "angle":
        value = source.uniform(0.5, 1.0)
    elif family == "positive-small":
        value = source.uniform(0, 1000)
    else:
        value = source.choice((0.5, -0.5, 1.5, 2.5, -1.5)) if source.random() < 0.3 else source.uniform(-20, 20)
    code = "<f" if kind == "f" else "<d"
    return int.from_bytes(struct.pack(code, value), "little")
