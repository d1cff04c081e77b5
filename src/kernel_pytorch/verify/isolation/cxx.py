"""C and C++: fold the preprocessor to "not ROCm" and compare what is left, token by token."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.verify.isolation.cxx_conditions import Condition, fold, is_rocm_macro
from kernel_pytorch.verify.isolation.cxx_tokens import CxxToken, Directive, Item, read_items
from kernel_pytorch.verify.isolation.verdict import FileVerdict, Isolation

SUFFIXES = frozenset(
    [
        ".c",
        ".cc",
        ".cpp",
        ".cxx",
        ".cu",
        ".cuh",
        ".h",
        ".hh",
        ".hpp",
        ".hxx",
        ".inl",
        ".inc",
        ".ipp",
        ".tpp",
        ".cu.in",
        ".h.in",
        ".metal",
        ".hip",
    ]
)


@dataclass(frozen=True)
class FoldedToken:
    """A token of the NVIDIA path. `unsure`: under a condition with a ROCm macro that could not be decided."""

    text: bytes
    line: int
    unsure: bool = False


@dataclass
class _Frame:
    """One open `#if`: whether this branch is taken, and what the chain has come to so far."""

    live: bool  # the text around the chain is on the NVIDIA path
    taken: bool = False  # an earlier branch is certainly taken
    emitted: bool = False  # a branch that stays conditional was written
    here: bool = True  # the current branch is on the NVIDIA path
    unsure: bool = False
    unsure_around: bool = False

    @property
    def is_unsure(self) -> bool:
        return self.unsure or self.unsure_around


def fold_source(source: bytes) -> list[FoldedToken]:
    """The tokens nvcc's preprocessor may see, the surviving conditions among them in one spelling."""
    out: list[FoldedToken] = []
    stack: list[_Frame] = []
    for item in read_items(source):
        live = not stack or stack[-1].here
        unsure = bool(stack) and stack[-1].is_unsure
        if isinstance(item, Directive) and item.name in _HANDLERS:
            _HANDLERS[item.name](item, stack, live, out)
        elif live:
            out.extend(_emit(item, unsure))
    return out


def _emit(item: Item, unsure: bool) -> Iterator[FoldedToken]:
    if isinstance(item, CxxToken):
        yield FoldedToken(item.text, item.line, unsure)
        return
    # The end of a directive is its line break: without a mark `#define A` + `B` would equal `#define A B`.
    yield FoldedToken(b"#" + item.name, item.line, unsure)
    for token in item.tokens:
        yield FoldedToken(token.text, token.line, unsure)
    yield FoldedToken(b"\n", item.line, unsure)


def _condition(directive: Directive) -> Condition:
    tokens = tuple(token.text for token in directive.tokens)
    if directive.name in (b"ifdef", b"elifdef"):
        tokens = (b"defined", b"(", *tokens[:1], b")")
    elif directive.name in (b"ifndef", b"elifndef"):
        tokens = (b"!", b"defined", b"(", *tokens[:1], b")")
    return fold(tokens)


def _open(directive: Directive, stack: list[_Frame], live: bool, out: list[FoldedToken]) -> None:
    frame = _Frame(live=live, unsure_around=bool(stack) and stack[-1].is_unsure)
    stack.append(frame)
    _branch(directive, frame, out)


def _next_branch(directive: Directive, stack: list[_Frame], live: bool, out: list[FoldedToken]) -> None:
    if stack:
        _branch(directive, stack[-1], out)


def _branch(directive: Directive, frame: _Frame, out: list[FoldedToken]) -> None:
    frame.unsure = False
    if not frame.live or frame.taken:
        frame.here = False
        return
    condition = _condition(directive)
    if condition.value is not None and not condition.value:
        frame.here = False
        return
    frame.here = True
    if condition.value is not None:  # certainly taken: an #else, or unconditional if nothing was written before
        frame.taken = True
        if frame.emitted:
            out.append(FoldedToken(b"#else", directive.line))
        return
    frame.unsure = condition.gated and any(is_rocm_macro(token) for token in condition.tokens)
    out.append(FoldedToken(b"#elif" if frame.emitted else b"#if", directive.line, frame.unsure))
    out.extend(FoldedToken(token, directive.line, frame.unsure) for token in condition.tokens)
    out.append(FoldedToken(b"\n", directive.line, frame.unsure))
    frame.emitted = True


def _else(directive: Directive, stack: list[_Frame], live: bool, out: list[FoldedToken]) -> None:
    if not stack:
        return
    frame = stack[-1]
    frame.unsure = False
    frame.here = frame.live and not frame.taken
    if frame.here and frame.emitted:
        out.append(FoldedToken(b"#else", directive.line))
    frame.taken = True


def _close(directive: Directive, stack: list[_Frame], live: bool, out: list[FoldedToken]) -> None:
    if not stack:
        return
    frame = stack.pop()
    if frame.live and frame.emitted:
        out.append(FoldedToken(b"#endif", directive.line))


_HANDLERS = {
    b"if": _open,
    b"ifdef": _open,
    b"ifndef": _open,
    b"elif": _next_branch,
    b"elifdef": _next_branch,
    b"elifndef": _next_branch,
    b"else": _else,
    b"endif": _close,
}


def compare_cxx(path: str, old: bytes, new: bytes) -> FileVerdict:
    """Whether the two sources are the same program for a compiler that defines no ROCm macro."""
    before, after = fold_source(old), fold_source(new)
    after = _without_new_macros(before, after)
    for left, right in zip(before, after, strict=False):
        if left.text != right.text:
            return _differs(path, left, right)
    if len(before) != len(after):
        longer, which = (after, "new") if len(after) > len(before) else (before, "old")
        extra = longer[min(len(before), len(after))]
        verdict = Isolation.NOT_PROVEN if extra.unsure else Isolation.CHANGED
        line, old_line = (extra.line, None) if which == "new" else (None, extra.line)
        return FileVerdict(path, verdict, f"the {which} file goes on with {_shown(extra)}", line, old_line)
    return FileVerdict(path, Isolation.PROVEN, "the same tokens with the ROCm macros undefined")


def _differs(path: str, left: FoldedToken, right: FoldedToken) -> FileVerdict:
    unsure = left.unsure or right.unsure
    verdict = Isolation.NOT_PROVEN if unsure else Isolation.CHANGED
    why = " under a condition that mixes ROCm with others" if unsure else ""
    return FileVerdict(path, verdict, f"{_shown(left)} became {_shown(right)}{why}", right.line, left.line)


def _shown(token: FoldedToken) -> str:
    text = token.text.decode("utf-8", errors="replace")
    return "the end of a directive" if text == "\n" else repr(text if len(text) < 60 else text[:57] + "...")


@dataclass(frozen=True)
class _Macro:
    body: tuple[FoldedToken, ...]
    branch: tuple[int, ...]  # the open conditions at the definition: it holds inside them only


def _without_new_macros(before: list[FoldedToken], after: list[FoldedToken]) -> list[FoldedToken]:
    """Undo macros without parameters that the new file introduces: defined once, before use, and new.

    `#define MASK 0xffffffff` for NVIDIA beside a ROCm value is the usual way to gate a constant. With the macro
    replaced by its text the original line is back.
    """
    candidates = _new_macro_names(before, after)
    if not candidates:
        return after
    macros: dict[bytes, _Macro] = {}
    kept: list[FoldedToken] = []
    branch: list[int] = []
    serial = index = 0
    while index < len(after):
        token = after[index]
        if token.text in (b"#if", b"#elif", b"#else", b"#endif"):
            serial += 1
            branch = branch if token.text == b"#if" else branch[:-1]
            branch = branch if token.text == b"#endif" else [*branch, serial]
        name = after[index + 1].text if index + 1 < len(after) else b""
        if token.text == b"#define" and name in candidates:
            end = _line_end(after, index)
            macros[name] = _Macro(tuple(after[index + 2 : end]), tuple(branch))
            index = end + 1
            continue
        kept.extend(_expanded(token, macros, tuple(branch), ()))
        index += 1
    return kept


def _new_macro_names(before: list[FoldedToken], after: list[FoldedToken]) -> set[bytes]:
    known = {token.text for token in before}
    defined: list[bytes] = []
    excluded: set[bytes] = set()
    for index, token in enumerate(after[:-1]):
        name = after[index + 1].text
        if token.text == b"#define":
            # `#define F(x)` has its bracket directly behind the name; tokens alone cannot tell, so any bracket is left.
            if index + 2 < len(after) and after[index + 2].text == b"(":
                excluded.add(name)
            defined.append(name)
        elif token.text == b"#undef":
            excluded.add(name)
    return {name for name in defined if defined.count(name) == 1} - excluded - known


def _line_end(tokens: list[FoldedToken], start: int) -> int:
    return next(index for index in range(start, len(tokens)) if tokens[index].text == b"\n")


def _expanded(
    token: FoldedToken, macros: dict[bytes, _Macro], branch: tuple[int, ...], inside: tuple[bytes, ...]
) -> Iterator[FoldedToken]:
    macro = macros.get(token.text)
    if macro is None or token.text in inside or branch[: len(macro.branch)] != macro.branch:
        yield token
        return
    for piece in macro.body:
        placed = FoldedToken(piece.text, token.line, token.unsure)
        yield from _expanded(placed, macros, branch, (*inside, token.text))
