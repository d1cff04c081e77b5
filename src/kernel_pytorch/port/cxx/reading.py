"""Reading C++ by tokens, for rules: words, calls and their arguments, device code, preprocessor lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from kernel_pytorch.core.findings import Span
from kernel_pytorch.port.cxx.lexer import Token
from kernel_pytorch.port.source import SourceFile

_OPEN = {b"(": b")", b"[": b"]", b"{": b"}"}
_CLOSE = frozenset(_OPEN.values())


@lru_cache(maxsize=4)
def words(src: SourceFile) -> Mapping[bytes, tuple[int, ...]]:
    """Each identifier of a file with the indexes of its tokens in `src.code`."""
    found: dict[bytes, list[int]] = defaultdict(list)
    data = src.data
    for index, token in enumerate(src.code):
        if token.kind == "identifier":
            found[data[token.start : token.end]].append(index)
    return {name: tuple(indexes) for name, indexes in found.items()}


def text_at(src: SourceFile, index: int) -> bytes:
    """The text of a code token, or empty outside the file."""
    if not 0 <= index < len(src.code):
        return b""
    token = src.code[index]
    return src.data[token.start : token.end]


def punctuation(src: SourceFile, text: bytes) -> Iterator[int]:
    """Indexes in `src.code` of a punctuator, found in the bytes first: most files have few of the rare ones."""
    starts = _code_starts(src)
    for found in re.finditer(re.escape(text), src.data):
        index = bisect_right(starts, found.start()) - 1
        if index >= 0 and starts[index] == found.start() and src.code[index].end == found.end():
            yield index


@lru_cache(maxsize=4)
def _code_starts(src: SourceFile) -> list[int]:
    return [token.start for token in src.code]


def closing(src: SourceFile, opening: int) -> int | None:
    """Index of the token that closes the bracket at `opening`."""
    return _brackets(src).get(opening)


_SNAPSHOT_DEPTH = 200


@lru_cache(maxsize=4)
def _brackets(src: SourceFile) -> Mapping[int, int]:
    """Every bracket with the one that closes it, in one pass.

    The branches of a conditional often open the same bracket twice: each starts from what was open before it.
    """
    pairs: dict[int, int] = {}
    stack: list[tuple[bytes, int]] = []
    saved: list[list[tuple[bytes, int]]] = []
    for index, token in enumerate(src.code):
        if token.kind == "directive":
            name = src.data[token.start + 1 : token.end].strip()
            if name.startswith(b"if"):
                saved.append(stack[:] if len(stack) < _SNAPSHOT_DEPTH else stack)
            elif name.startswith(b"el") and saved:
                stack = saved[-1][:] if len(saved[-1]) < _SNAPSHOT_DEPTH else stack
            elif name == b"endif" and saved:
                saved.pop()
            continue
        if token.kind != "punct" or token.end - token.start != 1:
            continue
        text = src.data[token.start : token.end]
        if text in _OPEN:
            stack.append((_OPEN[text], index))
        elif text in _CLOSE and stack:
            if stack[-1][0] == text:
                pairs[stack.pop()[1]] = index
            else:
                stack.clear()  # nothing that was open can be trusted to close
    return pairs


@dataclass(frozen=True)
class Call:
    """A name followed by parentheses. `arguments` are spans without surrounding white space."""

    name: bytes
    index: int
    span: Span
    arguments: tuple[Span, ...]

    def argument(self, src: SourceFile, number: int) -> bytes:
        """The text of one argument."""
        span = self.arguments[number]
        return src.data[span.start : span.end]


def calls(src: SourceFile, *names: bytes) -> Iterator[Call]:
    """Calls of the named functions, in the order of the file. Members and definitions of that name are left out."""
    known = words(src)
    uses = [(index, name) for name in names for index in known.get(name, ())]
    for index, name in sorted(uses):
        if text_at(src, index - 1) in (b".", b"->") or text_at(src, index + 1) != b"(":
            continue
        close = closing(src, index + 1)
        if close is None or text_at(src, close + 1) == b"{" or _is_declaration(src, index):
            continue
        yield Call(
            name, index, Span(src.code[index].start, src.code[close].end), split_arguments(src, index + 1, close)
        )


_NOT_A_TYPE = frozenset({b"return", b"else", b"do", b"case", b"throw", b"co_return", b"and", b"or", b"not"})


def _is_declaration(src: SourceFile, index: int) -> bool:
    """`float __ldcs(const float*)`: a word or a pointer star straight before the name declares it."""
    if src.code[index - 1].kind != "identifier" if index else True:
        return False
    before = text_at(src, index - 1)
    if before in _NOT_A_TYPE or is_in_directive(src, src.code[index].start):
        return False
    # A call starts a statement after a macro in capitals, as in `CHECK cudaMalloc(...)`: no such thing is a type.
    return not before.isupper()


def split_arguments(src: SourceFile, opening: int, close: int) -> tuple[Span, ...]:
    """The spans between the commas of a bracket. Commas inside template brackets are not told apart by depth alone."""
    spans: list[Span] = []
    depth = angle = 0
    first = last = None
    for index in range(opening + 1, close):
        token = src.code[index]
        text = text_at(src, index) if token.kind == "punct" else b""
        if text in _OPEN:
            depth += 1
        elif text in _CLOSE:
            depth -= 1
        elif depth == 0 and text == b"<" and _opens_template(src, index, close):
            angle += 1
        elif depth == 0 and angle and text in (b">", b">>"):
            angle = max(0, angle - len(text))
        elif text == b"," and depth == 0 and angle == 0:
            if first is not None and last is not None:
                spans.append(Span(first, last))
            first = last = None
            continue
        if text == b"\\":
            continue
        if first is None:
            first = token.start
        last = token.end
    if first is not None and last is not None:
        spans.append(Span(first, last))
    return tuple(spans)


_TEMPLATE_TOKENS = 300


def _opens_template(src: SourceFile, index: int, close: int) -> bool:
    """Whether `<` after a name is closed by `>` before the bracket ends, with nothing but a type list between."""
    if src.code[index - 1].kind != "identifier":
        return False
    depth = 0
    for inner in range(index, min(close, index + _TEMPLATE_TOKENS)):
        text = text_at(src, inner)
        if text == b"<":
            depth += 1
        elif text in (b">", b">>"):
            depth -= len(text)
            if depth <= 0:
                return True
        elif text in (b"&&", b"||", b";", b"{", b"=", b"+", b"==") or (text == b"(" and depth == 0):
            return False
    return False


@dataclass(frozen=True)
class DeviceRegion:
    """The body of a function that runs on the device."""

    start: int
    end: int
    is_kernel: bool
    is_host_too: bool


@lru_cache(maxsize=4)
def device_regions(src: SourceFile) -> tuple[DeviceRegion, ...]:
    """Bodies of functions marked __global__ or __device__, in order."""
    known = words(src)
    marks = sorted((*known.get(b"__global__", ()), *known.get(b"__device__", ())))
    regions: list[DeviceRegion] = []
    for mark in marks:
        body = _body_after(src, mark)
        if body is None:
            continue
        close = closing(src, body)
        if close is None:
            continue
        head = {text_at(src, index) for index in range(max(0, mark - 4), body)}
        region = DeviceRegion(
            src.code[body].start, src.code[close].end, text_at(src, mark) == b"__global__", b"__host__" in head
        )
        if not regions or regions[-1].start != region.start:
            regions.append(region)
    return tuple(regions)


def _body_after(src: SourceFile, mark: int) -> int | None:
    depth = 0
    before: list[int] = []  # the branches of a conditional often open the same bracket twice
    initialises = False
    index = mark
    while (index := index + 1) < min(mark + 2000, len(src.code)):
        text = text_at(src, index)
        if src.code[index].kind == "directive":
            name = text[1:].strip()
            if name.startswith(b"if"):
                before.append(depth)
            elif name.startswith(b"el") and before:
                depth = before[-1]
            elif name == b"endif" and before:
                before.pop()
        elif text in (b"(", b"["):
            depth += 1
        elif text in (b")", b"]"):
            depth -= 1
            if depth < 0:
                return None
        elif depth == 0 and text == b":" and text_at(src, index - 1) in (b")", b"noexcept"):
            initialises = True
        elif depth == 0 and text == b"{" and initialises and src.code[index - 1].kind == "identifier":
            # A member of a constructor's list, as in `: scale{1.f}`.
            end = closing(src, index)
            if end is None:
                return None
            index = end
        elif depth == 0 and text == b"{":
            return index
        elif depth == 0 and text in (b";", b"=", b"}"):
            return None
    return None


def device_region_at(src: SourceFile, offset: int) -> DeviceRegion | None:
    """The innermost device function an offset lies in."""
    found = None
    for region in device_regions(src):
        if region.start <= offset < region.end:
            found = region
        elif region.start > offset:
            break
    return found


@dataclass(frozen=True)
class Directive:
    """One preprocessor line: `name` is `if`, `ifdef`, `define` ...; `tokens` are those after the name."""

    name: bytes
    span: Span
    tokens: tuple[Token, ...]


@lru_cache(maxsize=4)
def _directives(src: SourceFile) -> tuple[Directive, ...]:
    found: list[Directive] = []
    code = src.code
    index = 0
    while index < len(code):
        token = code[index]
        if token.kind != "directive":
            index += 1
            continue
        end = _logical_line_end(src.data, token.end)
        stop = index + 1
        while stop < len(code) and code[stop].start < end:
            stop += 1
        name = src.data[token.start + 1 : token.end].strip(b" \t\\\r\n")
        inner = tuple(item for item in code[index + 1 : stop] if src.data[item.start : item.end] != b"\\")
        found.append(Directive(name, Span(token.start, end), inner))
        index = stop
    return tuple(found)


@lru_cache(maxsize=4)
def _directive_starts(src: SourceFile) -> list[int]:
    return [directive.span.start for directive in _directives(src)]


def directives(src: SourceFile) -> tuple[Directive, ...]:
    """The preprocessor lines of a file, in order."""
    return _directives(src)


def directive_at(src: SourceFile, offset: int) -> Directive | None:
    """The preprocessor line an offset lies in, continuation lines counted."""
    line = bisect_right(_directive_starts(src), offset) - 1
    if line < 0 or offset >= _directives(src)[line].span.end:
        return None
    return _directives(src)[line]


def is_in_directive(src: SourceFile, offset: int) -> bool:
    """Whether an offset lies in a preprocessor line."""
    return directive_at(src, offset) is not None


_LINE_END = re.compile(rb"(?<!\\)(?<!\\\r)\n|\Z")


def _logical_line_end(data: bytes, start: int) -> int:
    found = _LINE_END.search(data, start)
    return found.start() if found else len(data)


@dataclass(frozen=True)
class Branch:
    """One branch of a conditional: its directive and the span of its text."""

    directive: Directive
    body: Span


@dataclass(frozen=True)
class Conditional:
    """#if to #endif with all its branches."""

    branches: tuple[Branch, ...]


@lru_cache(maxsize=4)
def conditionals(src: SourceFile) -> tuple[Conditional, ...]:
    """All conditionals of a file, inner ones after the outer ones that hold them; unbalanced ones end with the file."""
    open_ones: list[list[tuple[Directive, int]]] = []
    done: list[tuple[int, Conditional]] = []

    def close(branches: list[tuple[Directive, int]], end: int) -> None:
        ends = [directive.span.start for directive, _ in branches[1:]] + [end]
        made = tuple(
            Branch(one, Span(start, max(start, stop))) for (one, start), stop in zip(branches, ends, strict=True)
        )
        done.append((branches[0][0].span.start, Conditional(made)))

    for directive in directives(src):
        if directive.name in (b"if", b"ifdef", b"ifndef"):
            open_ones.append([(directive, directive.span.end)])
        elif directive.name in (b"elif", b"else", b"elifdef", b"elifndef") and open_ones:
            open_ones[-1].append((directive, directive.span.end))
        elif directive.name == b"endif" and open_ones:
            close(open_ones.pop(), directive.span.start)
    while open_ones:
        close(open_ones.pop(), len(src.data))
    return tuple(conditional for _, conditional in sorted(done, key=lambda item: item[0]))
