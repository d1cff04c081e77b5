"""Floating point of PTX as C++. Approximate forms become the ordinary function: at least as accurate.

.ftz is accepted and dropped: AMD keeps denormals, NVIDIA would have made them zero. Rounding other than to nearest
even has no C++ operator and is refused.
"""

from __future__ import annotations

from kernel_pytorch.port.ptx.lower import Handler, Lowering, NotTranslated, expect, only, type_of
from kernel_pytorch.port.ptx.ops_integer import INTEGER_FORMS
from kernel_pytorch.port.ptx.parse import Instruction

_FLOATS = frozenset({"f32", "f64", "f16", "f16x2", "bf16", "bf16x2"})
# HIP's bfloat16 types cannot be bit-cast to, so their forms are refused.
_HALF_TYPES = {"f16": "__half", "f16x2": "__half2"}
_HALF_FUNCTIONS = {"add": "__hadd", "sub": "__hsub", "mul": "__hmul", "fma": "__hfma", "neg": "__hneg", "abs": "__habs"}
_PLAIN = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def _is_float(item: Instruction) -> bool:
    return bool(item.modifiers) and item.modifiers[-1] in _FLOATS


def _integer_form(state: Lowering, item: Instruction) -> None:
    """The same opcode on integers. A type that is neither (pasted by a macro, say) is refused by name."""
    form = INTEGER_FORMS.get(item.opcode)
    if form is None:
        raise NotTranslated(f"{item.opcode} without a type that is known here")
    form(state, item)


def half_value(text: str, kind: str) -> str:
    """The bits of one or two 16-bit floats as the type the half intrinsics take."""
    return f"__builtin_bit_cast({_HALF_TYPES[kind]}, {text})"


def half_bits(text: str, kind: str) -> str:
    """The bits of a 16-bit float value."""
    return f"__builtin_bit_cast({'unsigned' if kind.endswith('x2') else 'unsigned short'}, {text})"


def _half(state: Lowering, item: Instruction, kind: str, inputs: int) -> None:
    only(item, {"rn", "ftz", kind} if item.opcode != "neg" else {"ftz", kind})
    name = _HALF_FUNCTIONS.get(item.opcode)
    if name is None:
        raise NotTranslated(f"{item.name} has no known C++ form")
    name += "2" if kind.endswith("x2") else ""
    destination, *sources = expect(item, inputs + 1)
    arguments = ", ".join(half_value(state.read(source, kind), kind) for source in sources)
    state.write(destination, kind, half_bits(f"{name}({arguments})", kind))


def _binary(state: Lowering, item: Instruction) -> None:
    if not _is_float(item):
        _integer_form(state, item)
        return
    kind = type_of(item, "f32 f64 f16 f16x2")
    if kind not in ("f32", "f64"):
        _half(state, item, kind, 2)
        return
    only(item, {"rn", "ftz", "full", "approx", kind})
    destination, left, right = expect(item, 3)
    a, b = state.read(left, kind), state.read(right, kind)
    if item.opcode == "div" and item.has("approx", "full"):
        state.write(destination, kind, f"__fdividef({a}, {b})")
    elif item.has("rn") and item.opcode != "div":
        # Written with .rn, PTX forbids contraction into an fma.
        prefix = "f" if kind == "f32" else "d"
        state.write(destination, kind, f"__{prefix}{item.opcode}_rn({a}, {b})")
    else:
        state.write(destination, kind, f"{a} {_PLAIN[item.opcode]} {b}")


def _fma(state: Lowering, item: Instruction) -> None:
    if not _is_float(item):
        _integer_form(state, item)
        return
    kind = type_of(item, "f32 f64 f16 f16x2")
    if kind not in ("f32", "f64"):
        _half(state, item, kind, 3)
        return
    only(item, {"rn", "ftz", kind})
    destination, *sources = expect(item, 4)
    arguments = ", ".join(state.read(source, kind) for source in sources)
    state.write(destination, kind, f"{'fmaf' if kind == 'f32' else 'fma'}({arguments})")


def _extremum(state: Lowering, item: Instruction) -> None:
    if not _is_float(item):
        _integer_form(state, item)
        return
    kind = type_of(item, "f32 f64")
    only(item, {"ftz", kind})
    destination, left, right = expect(item, 3)
    name = f"f{item.opcode}" + ("f" if kind == "f32" else "")
    state.write(destination, kind, f"{name}({state.read(left, kind)}, {state.read(right, kind)})")


def _unary_sign(state: Lowering, item: Instruction) -> None:
    if not _is_float(item):
        _integer_form(state, item)
        return
    kind = type_of(item, "f32 f64 f16 f16x2")
    if kind not in ("f32", "f64"):
        _half(state, item, kind, 1)
        return
    only(item, {"ftz", kind})
    destination, source = expect(item, 2)
    value = state.read(source, kind)
    name = "fabsf" if kind == "f32" else "fabs"
    state.write(destination, kind, f"-{value}" if item.opcode == "neg" else f"{name}({value})")


# opcode -> (function of f32, of f64)
_FUNCTIONS = {
    "sqrt": ("sqrtf", "sqrt"),
    "rsqrt": ("rsqrtf", "rsqrt"),
    "sin": ("__sinf", ""),
    "cos": ("__cosf", ""),
    "lg2": ("__log2f", ""),
    "ex2": ("exp2f", ""),
    "tanh": ("tanhf", ""),
}
# Half forms: widened to f32, which no approximation of 16 bits is better than.
_HALF_UNARY = {"ex2": "exp2f", "tanh": "tanhf"}


def _function(state: Lowering, item: Instruction) -> None:
    kind = item.modifiers[-1] if item.modifiers else ""
    only(item, {"approx", "ftz", "rn", kind})
    if item.has("rn") and item.opcode != "sqrt":
        raise NotTranslated(f"{item.name} has no known C++ form")
    destination, source = expect(item, 2)
    if kind in _HALF_TYPES and item.opcode in _HALF_UNARY:
        _half_function(state, item, kind)
        return
    names = dict(zip(("f32", "f64"), _FUNCTIONS[item.opcode], strict=True))
    name = names.get(kind, "")
    if not name or (kind == "f64" and item.has("approx") and item.opcode != "rsqrt"):
        raise NotTranslated(f"{item.name} has no known C++ form")
    state.write(destination, kind, f"{name}({state.read(source, kind)})")


def _half_function(state: Lowering, item: Instruction, kind: str) -> None:
    destination, source = expect(item, 2)
    name = _HALF_UNARY[item.opcode]
    if kind == "f16":
        inner = f"__half2float({half_value(state.read(source, kind), kind)})"
        state.write(destination, kind, half_bits(f"__float2half_rn({name}({inner}))", kind))
        return
    if kind != "f16x2":
        raise NotTranslated(f"{item.name} has no known C++ form")
    pair = f"kpt_h{len(state.lines)}"
    state.lines.append(f"const float2 {pair} = __half22float2({half_value(state.read(source, kind), kind)});")
    state.write(destination, kind, half_bits(f"__floats2half2_rn({name}({pair}.x), {name}({pair}.y))", kind))


def _reciprocal(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "f32 f64")
    only(item, {"approx", "ftz", "rn", kind})
    if kind == "f64" and item.has("approx"):
        raise NotTranslated(f"{item.name} has no known C++ form")
    destination, source = expect(item, 2)
    one = "1.0f" if kind == "f32" else "1.0"
    state.write(destination, kind, f"{one} / {state.read(source, kind)}")


def _copysign(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "f32 f64")
    only(item, {kind})
    destination, sign, magnitude = expect(item, 3)
    name = "copysignf" if kind == "f32" else "copysign"
    state.write(destination, kind, f"{name}({state.read(magnitude, kind)}, {state.read(sign, kind)})")


_TESTS = {"finite": "isfinite({0})", "infinite": "isinf({0})", "notanumber": "isnan({0})", "number": "!isnan({0})"}


def _test(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "f32 f64")
    form = next((text for test, text in _TESTS.items() if item.has(test)), None)
    only(item, {kind, *_TESTS})
    if form is None:
        raise NotTranslated(f"{item.name} has no known C++ form")
    destination, source = expect(item, 2)
    state.write(destination, "pred", f"(bool){form.format(state.read(source, kind))}")


HANDLERS: dict[str, Handler] = {
    "add": _binary, "sub": _binary, "mul": _binary, "div": _binary,
    "fma": _fma, "mad": _fma,
    "min": _extremum, "max": _extremum, "abs": _unary_sign, "neg": _unary_sign,
    "sqrt": _function, "rsqrt": _function, "sin": _function, "cos": _function, "lg2": _function, "ex2": _function,
    "tanh": _function, "rcp": _reciprocal, "copysign": _copysign, "testp": _test,
}  # fmt: skip
