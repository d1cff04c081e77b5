"""A small machine that runs kernels lane by lane, as CUDA defines warps of 32 or as HIP's headers define waves.

All threads of a block step together, which is one legal schedule of any race-free kernel; collectives act within
waves. Reading a lane that is not there gives POISON, which spreads. HIP's `_sync` functions trap on a mask that is
not exactly the live lanes that pass it, as they do without NDEBUG.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kernel_pytorch.port.cxx.declarations import Function
from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.syntax import file_syntax

POISON = None
PUNCTUATION = {"(", ")", ",", "{", "}", ";", "[", "]"}


def _anything(data: bytes, start: int, end: int) -> bool:
    return True


class Trap(Exception):
    """What __builtin_trap does."""


@dataclass
class Vec:
    """One value per thread. `kind`: i32, u32, i64, u64, f, ptr, ref."""

    kind: str
    items: list[Any]


@dataclass
class Pointer:
    """Into an array that all threads see."""

    array: list[Any]
    offset: int
    kind: str


@dataclass
class Ref:
    """To one thread's variable."""

    env: dict[str, Vec]
    name: str
    thread: int


@dataclass
class Frame:
    """One call."""

    function: Function
    env: dict[str, Vec]
    result: Vec | None = None
    returned: set[int] = field(default_factory=set)
    broken: list[set[int]] = field(default_factory=list)
    continued: list[set[int]] = field(default_factory=list)


def kind_of(type_text: str) -> str:
    words = type_text.replace("const", "").split()
    text = " ".join(word for word in words if word not in ("__shared__", "static", "volatile", "&"))
    if any(word in text for word in ("float", "double")):
        return "f"
    if "long long" in text or "64" in text or "size_t" in text:
        return "u64" if "unsigned" in text or "uint" in text or "size_t" in text else "i64"
    return "u32" if "unsigned" in text or "uint" in text else "i32"


def wrap(kind: str, value: Any) -> Any:
    if value is POISON or kind in ("ptr", "ref"):
        return value
    if kind == "f":
        return float(value)
    bits = 64 if kind.endswith("64") else 32
    value = int(value) & (2**bits - 1)
    return value - 2**bits if kind[0] == "i" and value >> (bits - 1) else value


def common(a: str, b: str) -> str:
    for kind in ("ptr", "f", "u64", "i64", "u32"):
        if kind in (a, b):
            return kind
    return "i32"


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def c_div(a: Any, b: Any) -> Any:
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


class Machine:
    """Runs the kernels of one source. `vendor` is "cuda" (warps of 32) or "hip"."""

    def __init__(self, text: str, vendor: str, wave: int, block: tuple[int, int] = (128, 1)) -> None:
        syntax = file_syntax(cxx_file("machine.cu", text.encode()), _anything)
        self.functions = {one.name: one for one in syntax.functions if one.kind in ("kernel", "device")}
        self.macros = {one.name: one.body.decode().strip() for one in syntax.macros if one.parameters is None}
        self.globals = {name: syntax.text(node) for name, _, node in syntax.globals}
        self.vendor, self.wave, self.block = vendor, wave, block
        self.threads = block[0] * block[1]
        self.shared: dict[str, list[Any]] = {}

    def run(self, kernel: str, *arguments: Any) -> None:
        """Arrays are lists, changed in place."""
        function = self.functions[kernel]
        env = {}
        for parameter, value in zip(function.parameters, arguments, strict=True):
            if isinstance(value, list):
                env[parameter.name] = self.fill("ptr", Pointer(value, 0, kind_of(parameter.type_text)))
            else:
                env[parameter.name] = self.fill(kind_of(parameter.type_text), value)
        self.block_of(function.body, Frame(function, env), set(range(self.threads)))

    def fill(self, kind: str, value: Any) -> Vec:
        return Vec(kind, [wrap(kind, value)] * self.threads)

    # Statements: each returns the threads that go on after it.

    def block_of(self, node: Node, frame: Frame, active: set[int]) -> set[int]:
        for child in node.children:
            if active and child.kind not in PUNCTUATION:
                active = self.statement(child, frame, active)
        return active

    def statement(self, node: Node, frame: Frame, active: set[int]) -> set[int]:
        run = getattr(self, "do_" + node.kind, None)
        if run is not None:
            return set(run(node, frame, active))
        if node.kind in ("comment", "preproc_call", "using_declaration", "alias_declaration"):
            return active
        self.value(node, frame, active)
        return active

    def do_compound_statement(self, node: Node, frame: Frame, active: set[int]) -> set[int]:
        return self.block_of(node, frame, active)

    def do_expression_statement(self, node: Node, frame: Frame, active: set[int]) -> set[int]:
        for child in node.children:
            if child.kind not in PUNCTUATION:
                self.value(child, frame, active)
        return active

    def do_declaration(self, node: Node, frame: Frame, active: set[int]) -> set[int]:
        text = frame.function.text(node)
        head = node.child("type")
        kind = kind_of(frame.function.text(head)) if head is not None else "i32"
        is_auto = head is not None and frame.function.text(head) == "auto"
        for one in node.children:
            if one.role != "declarator":
                continue
            target = one.child("declarator") if one.kind == "init_declarator" else one
            assert target is not None
            name = frame.function.text(target).lstrip("*& ").split("[")[0]
            if target.kind == "array_declarator":
                size = target.child("size")
                assert size is not None and "__shared__" in text
                count = self.value(size, frame, active).items[min(active)]
                frame.env[name] = self.fill("ptr", Pointer(self.shared.setdefault(name, [POISON] * count), 0, kind))
                continue
            own = "ptr" if target.kind == "pointer_declarator" else kind
            value = one.child("value") if one.kind == "init_declarator" else None
            frame.env.setdefault(name, Vec(own, [POISON] * self.threads))
            if value is not None:
                vector = self.value(value, frame, active)
                if is_auto:
                    frame.env[name] = Vec(vector.kind, list(frame.env[name].items))
                self.store_name(frame, name, vector, active)
        return active

    def do_if_statement(self, node: Node, frame: Frame, active: set[int]) -> set[int]:
        condition, then, other = node.child("condition"), node.child("consequence"), node.child("alternative")
        assert condition is not None and then is not None
        test = self.value(condition, frame, active)
        yes = {thread for thread in active if test.items[thread]}
        after = self.statement(then, frame, yes) if yes else set()
        no = active - yes
        if other is not None and no:
            body = [one for one in other.children if one.kind != "else"]
            no = self.statement(body[0] if other.kind == "else_clause" else other, frame, no)
        return after | no

    def do_for_statement(self, node: Node, frame: Frame, active: set[int]) -> set[int]:
        start = node.child("initializer")
        if start is not None:
            self.statement(start, frame, active)
        return self.loop(frame, active, node.child("condition"), node.child("body"), node.child("update"))

    def do_while_statement(self, node: Node, frame: Frame, active: set[int]) -> set[int]:
        return self.loop(frame, active, node.child("condition"), node.child("body"), None)

    def loop(self, frame: Frame, active: set[int], test: Node | None, body: Node | None, step: Node | None) -> set[int]:
        assert body is not None
        left: set[int] = set()
        frame.broken.append(set())
        for _ in range(5000):
            if test is not None:
                answer = self.value(test, frame, active)
                left |= {thread for thread in active if not answer.items[thread]}
                active = active - left
            if not active:
                break
            frame.continued.append(set())
            active = self.statement(body, frame, active) | frame.continued[-1]
            frame.continued.pop()
            if step is not None and active:
                self.value(step, frame, active)
        else:
            raise AssertionError("the loop does not end")
        return left | frame.broken.pop()

    def do_break_statement(self, node: Node, frame: Frame, active: set[int]) -> set[int]:
        frame.broken[-1] |= active
        return set()

    def do_continue_statement(self, node: Node, frame: Frame, active: set[int]) -> set[int]:
        frame.continued[-1] |= active
        return set()

    def do_return_statement(self, node: Node, frame: Frame, active: set[int]) -> set[int]:
        values = [one for one in node.children if one.kind not in PUNCTUATION and one.kind != "return"]
        if values:
            vector = self.value(values[0], frame, active)
            if frame.result is None:
                frame.result = Vec(vector.kind, [POISON] * self.threads)
            for thread in active:
                frame.result.items[thread] = vector.items[thread]
        frame.returned |= active
        return set()

    # Expressions

    def value(self, node: Node, frame: Frame, active: set[int]) -> Vec:
        return getattr(self, "of_" + node.kind)(node, frame, active)  # type: ignore[no-any-return]

    def constant(self, text: str, frame: Frame, active: set[int]) -> Vec:
        if text.startswith("-"):
            return self.unary("-", self.constant(text[1:], frame, active))
        match = re.fullmatch(r"(0[xX][0-9a-fA-F]+|[0-9.]+)([uUlLf]*)", text)
        assert match is not None, text
        if "." in match.group(1) or "f" in match.group(2):
            return self.fill("f", float(match.group(1)))
        value, suffix = int(match.group(1), 0), match.group(2).lower()
        is_hex = match.group(1)[:2].lower() == "0x"
        unsigned = "u" in suffix or (is_hex and value >= 2**31 and value < 2**32) or value >= 2**63
        return self.fill(("u" if unsigned else "i") + ("64" if "ll" in suffix or value >= 2**32 else "32"), value)

    def of_number_literal(self, node: Node, frame: Frame, active: set[int]) -> Vec:
        return self.constant(frame.function.text(node), frame, active)

    def of_true(self, node: Node, frame: Frame, active: set[int]) -> Vec:
        return self.fill("i32", 1)

    def of_false(self, node: Node, frame: Frame, active: set[int]) -> Vec:
        return self.fill("i32", 0)

    def of_identifier(self, node: Node, frame: Frame, active: set[int]) -> Vec:
        name = frame.function.text(node)
        if name in frame.env:
            return frame.env[name]
        if name == "warpSize":
            return self.fill("i32", self.wave)
        text = self.macros.get(name) or self.globals[name]
        if text == "warpSize":
            return self.fill("i32", self.wave)
        if text.startswith("~"):
            return self.unary("~", self.constant(text[1:], frame, active))
        return self.constant(text, frame, active)

    def of_parenthesized_expression(self, node: Node, frame: Frame, active: set[int]) -> Vec:
        return self.value(next(one for one in node.children if one.kind not in PUNCTUATION), frame, active)

    of_condition_clause = of_parenthesized_expression

    def of_field_expression(self, node: Node, frame: Frame, active: set[int]) -> Vec:
        text = frame.function.text(node)
        x, y = self.block
        found = {
            "threadIdx.x": [thread % x for thread in range(self.threads)],
            "threadIdx.y": [thread // x for thread in range(self.threads)],
            "blockIdx.x": [0] * self.threads,
            "blockDim.x": [x] * self.threads,
            "blockDim.y": [y] * self.threads,
            "blockDim.z": [1] * self.threads,
        }[text]
        return Vec("u32", found)

    def of_cast_expression(self, node: Node, frame: Frame, active: set[int]) -> Vec:
        kind, inner = node.child("type"), node.child("value")
        assert kind is not None and inner is not None
        text = frame.function.text(kind)
        vector = self.value(inner, frame, active)
        if "*" in text or text == "void":
            return vector
        return Vec(kind_of(text), [wrap(kind_of(text), one) for one in vector.items])

    def unary(self, sign: str, vector: Vec) -> Vec:
        if sign == "!":
            return Vec("i32", [POISON if one is POISON else int(not one) for one in vector.items])
        act = {"-": operator.neg, "~": operator.invert, "+": operator.pos}[sign]
        return Vec(vector.kind, [POISON if one is POISON else wrap(vector.kind, act(one)) for one in vector.items])

    def of_unary_expression(self, node: Node, frame: Frame, active: set[int]) -> Vec:
        sign, argument = node.child("operator"), node.child("argument")
        assert sign is not None and argument is not None
        return self.unary(sign.kind, self.value(argument, frame, active))

    def of_binary_expression(self, node: Node, frame: Frame, active: set[int]) -> Vec:
        left, sign, right = node.child("left"), node.child("operator"), node.child("right")
        assert left is not None and sign is not None and right is not None
        a = self.value(left, frame, active)
        if sign.kind in ("&&", "||"):
            needed = {thread for thread in active if bool(a.items[thread]) == (sign.kind == "&&")}
            b = self.value(right, frame, needed)
            picked = [b.items[t] if t in needed else a.items[t] for t in range(self.threads)]
            return Vec("i32", [POISON if one is POISON else int(bool(one)) for one in picked])
        return self.binary(sign.kind, a, self.value(right, frame, active), active)

    def binary(self, sign: str, a: Vec, b: Vec, active: set[int]) -> Vec:
        kind = a.kind if sign in ("<<", ">>") else common(a.kind, b.kind)
        out: list[Any] = [POISON] * self.threads
        for thread in active:
            x, y = a.items[thread], b.items[thread]
            if x is POISON or y is POISON:
                continue
            if kind == "ptr":
                out[thread] = Pointer(x.array, x.offset + y, x.kind)
                continue
            if sign not in ("<<", ">>"):
                x, y = wrap(kind, x), wrap(kind, y)
            if sign == "/":
                out[thread] = wrap(kind, c_div(x, y))
            elif sign == "%":
                out[thread] = wrap(kind, x - c_div(x, y) * y)
            elif sign in ("<<", ">>"):
                bits = 64 if kind.endswith("64") else 32
                assert 0 <= y < bits, f"undefined shift of {kind} by {y}"
                out[thread] = wrap(kind, x << y if sign == "<<" else x >> y)
            else:
                out[thread] = wrap(kind, OPERATORS[sign](x, y))
        if sign in ("<", ">", "<=", ">=", "==", "!="):
            return Vec("i32", [POISON if one is POISON else int(one) for one in out])
        return Vec(kind, out)

    def of_conditional_expression(self, node: Node, frame: Frame, active: set[int]) -> Vec:
        test, then, other = node.child("condition"), node.child("consequence"), node.child("alternative")
        assert test is not None and then is not None and other is not None
        answer = self.value(test, frame, active)
        yes = {thread for thread in active if answer.items[thread]}
        a, b = self.value(then, frame, yes), self.value(other, frame, active - yes)
        kind = common(a.kind, b.kind)
        return Vec(kind, [wrap(kind, a.items[t] if t in yes else b.items[t]) for t in range(self.threads)])

    def place(self, node: Node, frame: Frame, active: set[int]) -> list[Pointer]:
        base, index = node.child("argument"), node.child("indices") or node.child("index")
        assert base is not None and index is not None
        inner = [one for one in index.children if one.kind not in PUNCTUATION] or [index]
        pointer, at = self.value(base, frame, active), self.value(inner[0], frame, active)
        return [
            Pointer(pointer.items[t].array, pointer.items[t].offset + at.items[t], pointer.items[t].kind)
            if t in active
            else POISON
            for t in range(self.threads)
        ]  # type: ignore[misc]

    def load(self, places: list[Any], active: set[int]) -> Vec:
        kind = places[min(active)].kind if active else "i32"
        out: list[Any] = [POISON] * self.threads
        for thread in active:
            one = places[thread]
            if isinstance(one, Ref):
                out[thread] = one.env[one.name].items[thread]
            else:
                assert 0 <= one.offset < len(one.array), "out of bounds"
                out[thread] = one.array[one.offset]
        return Vec(kind, out)

    def of_subscript_expression(self, node: Node, frame: Frame, active: set[int]) -> Vec:
        return self.load(self.place(node, frame, active), active)

    def of_pointer_expression(self, node: Node, frame: Frame, active: set[int]) -> Vec:
        sign, argument = node.child("operator"), node.child("argument")
        assert sign is not None and argument is not None
        if sign.kind == "*":
            return self.load(self.value(argument, frame, active).items, active)
        if argument.kind == "subscript_expression":
            return Vec("ptr", list(self.place(argument, frame, active)))
        name = frame.function.text(argument)
        return Vec("ref", [Ref(frame.env, name, thread) for thread in range(self.threads)])

    def store_name(self, frame: Frame, name: str, vector: Vec, active: set[int]) -> None:
        target = frame.env[name]
        items = list(target.items)
        for thread in active:
            items[thread] = wrap(target.kind, vector.items[thread])
        frame.env[name] = Vec(target.kind, items)

    def store(self, target: Node, vector: Vec, frame: Frame, active: set[int]) -> None:
        if target.kind == "identifier":
            self.store_name(frame, frame.function.text(target), vector, active)
            return
        if target.kind == "subscript_expression":
            places: list[Any] = list(self.place(target, frame, active))
        else:
            argument = target.child("argument")
            assert target.kind == "pointer_expression" and argument is not None
            places = self.value(argument, frame, active).items
        for thread in sorted(active):
            places[thread].array[places[thread].offset] = wrap(places[thread].kind, vector.items[thread])

    def of_assignment_expression(self, node: Node, frame: Frame, active: set[int]) -> Vec:
        left, sign, right = node.child("left"), node.child("operator"), node.child("right")
        assert left is not None and sign is not None and right is not None
        vector = self.value(right, frame, active)
        if sign.kind != "=":
            vector = self.binary(sign.kind[:-1], self.value(left, frame, active), vector, active)
        self.store(left, vector, frame, active)
        return vector

    def of_update_expression(self, node: Node, frame: Frame, active: set[int]) -> Vec:
        argument, sign = node.child("argument"), node.child("operator")
        assert argument is not None and sign is not None
        old = self.value(argument, frame, active)
        self.store(argument, self.binary(sign.kind[0], old, self.fill("i32", 1), active), frame, active)
        return old

    def of_call_expression(self, node: Node, frame: Frame, active: set[int]) -> Vec:
        from lane_collectives import call_builtin

        callee, listed = node.child("function"), node.child("arguments")
        assert callee is not None and listed is not None
        values = [self.value(one, frame, active) for one in listed.children if one.kind not in PUNCTUATION]
        if callee.kind == "lambda_expression":
            return self.call_lambda(callee, values, frame, active)
        name = frame.function.text(callee).split("<")[0]
        if name in self.functions:
            return self.call(self.functions[name], values, active)
        return call_builtin(self, name, values, active)

    def call(self, function: Function, values: list[Vec], active: set[int]) -> Vec:
        env = {}
        for parameter, vector in zip(function.parameters, values, strict=True):
            if "*" in parameter.type_text or parameter.type_text.split()[0] == "T":
                env[parameter.name] = vector
            else:
                kind = kind_of(parameter.type_text)
                env[parameter.name] = Vec(kind, [wrap(kind, one) for one in vector.items])
        frame = Frame(function, env)
        self.block_of(function.body, frame, active)
        if frame.result is None:
            return self.fill("i32", 0)
        generic = function.return_type in ("T", "auto", "void")
        kind = frame.result.kind if generic else kind_of(function.return_type)
        return Vec(kind, [wrap(kind, one) for one in frame.result.items])

    def call_lambda(self, node: Node, values: list[Vec], frame: Frame, active: set[int]) -> Vec:
        declarator, body = node.child("declarator"), node.child("body")
        assert declarator is not None and body is not None
        names = re.findall(r"auto (\w+)", frame.function.text(declarator))
        inner = Frame(frame.function, dict(zip(names, values, strict=True)))
        self.block_of(body, inner, active)
        assert inner.result is not None
        return inner.result
