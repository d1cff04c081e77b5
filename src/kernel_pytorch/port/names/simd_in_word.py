"""CUDA's SIMD-in-a-word intrinsics (__vadd2, __vcmpgtu4 ...) as C++: one formula per operation, applied per part."""

from __future__ import annotations

import re

_NAME = re.compile(
    r"__v(?P<op>absss|absdiff|abs|addss|addus|add|avg|hadd|negss|neg|sad|subss|subus|sub|max|min"
    r"|cmp(?:eq|ne)|set(?:eq|ne)|cmp(?:ge|gt|le|lt)|set(?:ge|gt|le|lt))(?P<sign>[su]?)(?P<parts>[24])\Z"
)
_COMPARISONS = {"eq": "==", "ne": "!=", "ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
# x and y are the parts, widened to int; the result is cut to the part's width.
_FORMULAS = {
    ("abs", ""): "x < 0 ? -x : x",
    ("absss", ""): "x < 0 ? (x == low ? high : -x) : x",
    ("absdiff", "s"): "x > y ? x - y : y - x",
    ("absdiff", "u"): "x > y ? x - y : y - x",
    ("add", ""): "x + y",
    ("addss", ""): "x + y > high ? high : x + y < low ? low : x + y",
    ("addus", ""): "x + y > high ? high : x + y",
    ("avg", "s"): "(x + y + (x + y >= 0)) >> 1",
    ("avg", "u"): "(x + y + 1) >> 1",
    ("hadd", "u"): "(x + y) >> 1",
    ("max", "s"): "x > y ? x : y",
    ("max", "u"): "x > y ? x : y",
    ("min", "s"): "x < y ? x : y",
    ("min", "u"): "x < y ? x : y",
    ("neg", ""): "-x",
    ("negss", ""): "x == low ? high : -x",
    ("sub", ""): "x - y",
    ("subss", ""): "x - y > high ? high : x - y < low ? low : x - y",
    ("subus", ""): "x > y ? x - y : 0",
}
_SIGNED = frozenset({"abs", "absss", "addss", "neg", "negss", "subss"})
_UNARY = frozenset({"abs", "absss", "neg", "negss"})


def definition(name: str) -> str | None:
    """The C++ definition of one intrinsic, or None if the name is not one."""
    found = _NAME.match(name)
    if not found:
        return None
    operation, sign, parts = found["op"], found["sign"], int(found["parts"])
    bits = 32 // parts
    signed = operation in _SIGNED or sign == "s"
    part = {16: "short", 8: "signed char"}[bits] if signed else {16: "unsigned short", 8: "unsigned char"}[bits]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    mask = f"0x{(1 << bits) - 1:x}u"
    comparison = re.fullmatch(r"(cmp|set)(eq|ne|ge|gt|le|lt)", operation)
    if comparison:
        if (comparison[2] in ("eq", "ne")) != (sign == ""):
            return None
        value = f"x {_COMPARISONS[comparison[2]]} y ? {mask if comparison[1] == 'cmp' else '1u'} : 0u"
        combine = f"r |= (unsigned)({value}) << i;"
    elif operation == "sad":
        if not sign:
            return None
        combine = "r += (unsigned)(x > y ? x - y : y - x);"
    else:
        formula = _FORMULAS.get((operation, sign))
        if formula is None:
            return None
        formula = re.sub(r"\blow\b", f"({low})", re.sub(r"\bhigh\b", str(high), formula))
        combine = f"r |= ((unsigned)({formula}) & {mask}) << i;"
    second = "" if operation in _UNARY else ", unsigned b"
    other = "" if operation in _UNARY else f" const int y = ({part})(b >> i);"
    return (
        f"static __device__ inline unsigned {name}(unsigned a{second}) {{\n"
        f"  unsigned r = 0;\n"
        f"  for (int i = 0; i < 32; i += {bits}) {{ const int x = ({part})(a >> i);{other} {combine} }}\n"
        f"  return r;\n}}\n"
    )


def all_names() -> tuple[str, ...]:
    """Every intrinsic the generator knows."""
    operations = [operation for operation, _ in _FORMULAS] + ["sad"]
    operations += [f"{kind}{test}" for kind in ("cmp", "set") for test in _COMPARISONS]
    names = {f"__v{operation}{sign}{parts}" for operation in operations for sign in ("", "s", "u") for parts in (2, 4)}
    return tuple(sorted(name for name in names if definition(name)))
