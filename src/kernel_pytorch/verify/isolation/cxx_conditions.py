"""`#if` conditions with the ROCm macros undefined: false, true, or what is left of the condition."""

from __future__ import annotations

from dataclasses import dataclass

# Undefined when nvcc compiles: what ROCm's compilers and its projects' builds define.
ROCM_MACROS = frozenset(
    name.encode()
    for name in [
        "USE_ROCM",
        "USE_HIP",
        "USE_AMD",
        "__HIP__",
        "__HIPCC__",
        "__HIPCC_RTC__",
        "__HIP_PLATFORM_AMD__",
        "__HIP_PLATFORM_HCC__",
        "__HIP_DEVICE_COMPILE__",
        "__HIP_ARCH__",
        "HIP_VERSION",
        "HIP_VERSION_MAJOR",
        "HIP_VERSION_MINOR",
        "TORCH_HIP_VERSION",
        "ROCM_VERSION",
        "ROCM_VERSION_MAJOR",
        "GGML_USE_HIP",
        "GGML_USE_HIPBLAS",
        "BUILD_HIP",
        "__AMDGCN__",
        "__AMD__",
        "__AMDGPU__",
        "__GFX8__",
        "__GFX9__",
        "__GFX10__",
        "__GFX11__",
        "__GFX12__",
        "__AMDGCN_WAVEFRONT_SIZE",
        "__AMDGCN_WAVEFRONT_SIZE__",
        "ENABLE_HIP",
        "WITH_HIP",
    ]
)

_PRECEDENCE: tuple[tuple[bytes, ...], ...] = (
    (b"||",),
    (b"&&",),
    (b"|",),
    (b"^",),
    (b"&",),
    (b"==", b"!="),
    (b"<", b"<=", b">", b">="),
    (b"<<", b">>"),
    (b"+", b"-"),
    (b"*", b"/", b"%"),
)


def is_rocm_macro(name: bytes) -> bool:
    """`__gfx942__` and the like are defined by AMD's compiler alone."""
    return name in ROCM_MACROS or (name.startswith(b"__gfx") and name.endswith(b"__"))


@dataclass(frozen=True)
class Condition:
    """Known (0 or not 0), or the tokens of what could not be decided. `gated`: a ROCm macro was in it."""

    value: int | None
    tokens: tuple[bytes, ...]
    gated: bool


class _Unreadable(Exception):
    """Not an expression we read: the condition is then kept as it stands."""


def fold(tokens: tuple[bytes, ...]) -> Condition:
    """The condition of an `#if` or `#elif` with the ROCm macros undefined."""
    gated = any(is_rocm_macro(token) for token in tokens)
    parser = _Parser(tokens)
    try:
        value, left = parser.expression(0)
        if parser.position != len(tokens):
            raise _Unreadable
    except _Unreadable:
        return Condition(None, tokens, gated)
    return Condition(value, left, gated)


class _Parser:
    """Precedence climbing over three values: a known integer, or the simplified tokens of an unknown one."""

    def __init__(self, tokens: tuple[bytes, ...]) -> None:
        self.tokens = tokens
        self.position = 0

    def _next(self) -> bytes:
        if self.position >= len(self.tokens):
            raise _Unreadable
        self.position += 1
        return self.tokens[self.position - 1]

    def _peek(self) -> bytes | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def _expect(self, token: bytes) -> None:
        if self._next() != token:
            raise _Unreadable

    def expression(self, level: int) -> tuple[int | None, tuple[bytes, ...]]:
        if level == len(_PRECEDENCE):
            return self._unary()
        left = self.expression(level + 1)
        while (operator := self._peek()) is not None and operator in _PRECEDENCE[level]:
            self.position += 1
            left = _combine(operator, left, self.expression(level + 1))
        if level == 0 and self._peek() == b"?":
            raise _Unreadable  # rare in conditions, and not worth guessing at
        return left

    def _unary(self) -> tuple[int | None, tuple[bytes, ...]]:
        token = self._next()
        if token in (b"!", b"-", b"+", b"~"):
            value, tokens = self._unary()
            if value is None:
                return None, (token, *_grouped(tokens))
            result = {b"!": int(not value), b"-": -value, b"+": value, b"~": ~value}[token]
            return _known(result)
        if token == b"(":
            value, tokens = self.expression(0)
            self._expect(b")")
            return (value, tokens) if value is not None else (None, _grouped(tokens))
        if token == b"defined":
            return self._defined()
        return self._operand(token)

    def _defined(self) -> tuple[int | None, tuple[bytes, ...]]:
        name = self._next()
        if name == b"(":
            name = self._next()
            self._expect(b")")
        return _known(0) if is_rocm_macro(name) else (None, (b"defined", b"(", name, b")"))

    def _operand(self, token: bytes) -> tuple[int | None, tuple[bytes, ...]]:
        if token[:1].isdigit():
            try:
                return _known(int(token.rstrip(b"uUlL").replace(b"'", b""), 0))
            except ValueError:
                raise _Unreadable from None
        if not (token[:1].isalpha() or token[:1] == b"_"):
            raise _Unreadable
        if self._peek() == b"(":  # a function-like macro such as __has_include(<x>)
            return None, (token, *self._arguments())
        return _known(0) if is_rocm_macro(token) else (None, (token,))

    def _arguments(self) -> list[bytes]:
        depth, taken = 0, []
        while True:
            token = self._next()
            taken.append(token)
            depth += (token == b"(") - (token == b")")
            if depth == 0:
                return taken


def _known(value: int) -> tuple[int, tuple[bytes, ...]]:
    return value, (str(value).encode(),)


def _grouped(tokens: tuple[bytes, ...]) -> tuple[bytes, ...]:
    whole = len(tokens) == 1 or (tokens[0] == b"defined" and len(tokens) == 4) or _in_brackets(tokens)
    return tokens if whole else (b"(", *tokens, b")")


def _in_brackets(tokens: tuple[bytes, ...]) -> bool:
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token == b"(") - (token == b")")
        if depth == 0:
            return index == len(tokens) - 1
    return False


def _combine(
    operator: bytes, left: tuple[int | None, tuple[bytes, ...]], right: tuple[int | None, tuple[bytes, ...]]
) -> tuple[int | None, tuple[bytes, ...]]:
    a, b = left[0], right[0]
    if operator in (b"&&", b"||"):
        decides = 0 if operator == b"&&" else 1
        if (a is not None and bool(a) == bool(decides)) or (b is not None and bool(b) == bool(decides)):
            return _known(decides)
        if a is not None and b is not None:
            return _known(1 - decides)
        if a is not None:
            return right
        if b is not None:
            return left
        return None, (*left[1], operator, *right[1])
    if a is None or b is None:
        return None, (*left[1], operator, *right[1])
    if operator in (b"/", b"%") and b == 0:
        raise _Unreadable
    return _known(_arithmetic(operator, a, b))


def _arithmetic(operator: bytes, a: int, b: int) -> int:
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0  # C rounds towards zero
    shift = min(max(b, 0), 64)
    results = {
        b"|": a | b,
        b"^": a ^ b,
        b"&": a & b,
        b"==": a == b,
        b"!=": a != b,
        b"<": a < b,
        b"<=": a <= b,
        b">": a > b,
        b">=": a >= b,
        b"<<": a << shift,
        b">>": a >> shift,
        b"+": a + b,
        b"-": a - b,
        b"*": a * b,
        b"/": quotient,
        b"%": a - b * quotient,
    }
    return int(results[operator])
