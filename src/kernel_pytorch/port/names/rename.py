"""Names and headers of one file: the edits of the copy layout, and what has no counterpart."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.compiled_on_rocm import VERSION_MACROS, is_compiled
from kernel_pytorch.port.cxx.includes import Include, includes_in
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.tokens import is_string
from kernel_pytorch.port.names.call_shapes import wrapping
from kernel_pytorch.port.names.headers import RULES_OWN, RUNTIME_HEADER, HeaderChange, header_change
from kernel_pytorch.port.names.pieces import DRIVER_PIECE
from kernel_pytorch.port.names.shims import Shim, shims
from kernel_pytorch.port.names.table import Name, Use, names_used

# Whether an #include names a file of the project: those are never mapped.
IsLocal = Callable[[Include], bool]

# Rules own these names; the table must not speak about them twice.
_LEFT_TO_RULES = frozenset({"__CUDA_ARCH__", "CUDA_API_PER_THREAD_DEFAULT_STREAM"}) | {
    macro.decode() for macro in VERSION_MACROS
}
_WITH_SHIM_HEADERS = {
    "cooperative_groups/reduce.h": b"cg::reduce", "cooperative_groups/scan.h": b"cg::scan",
    "cooperative_groups/memcpy_async.h": b"cg::memcpy_async",
}  # fmt: skip


@dataclass
class Naming:
    """What the names of a file come to. `groups` are edits that belong together, with the name they are for.

    `glued` are edits for names that macros glue together, which no layout leaves to anybody else.
    """

    groups: list[tuple[str, tuple[Edit, ...]]] = field(default_factory=list)
    glued: list[tuple[Edit, ...]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    used: dict[str, Name] = field(default_factory=dict)
    headers: list[tuple[Include, HeaderChange]] = field(default_factory=list)
    needed_shims: list[Shim] = field(default_factory=list)
    translated: int = 0
    untranslated: int = 0


def name_file(src: CxxFile, own: frozenset[bytes], is_local: IsLocal) -> Naming:
    """The renames of a file, in its own coordinates."""
    result = Naming()
    _headers(src, is_local, result)
    uses, pasted = names_used(src, own)
    reported: set[str] = set()
    for use in uses:
        if use.name.cuda in _LEFT_TO_RULES:
            continue
        result.used[use.name.cuda] = use.name
        shim = shims().get(use.name.cuda.encode())
        if shim is not None:
            is_wanted = shim not in result.needed_shims and shim.guard not in src.data
            if is_wanted and is_compiled(src, use.token.start):
                result.needed_shims.append(shim)
            result.translated += 1
        elif not use.name.hip:
            result.untranslated += 1
            result.findings.append(without_counterpart(src, use))
        else:
            result.translated += 1
            result.groups.append((use.name.cuda, _rename(src, use)))
            _remarks(src, use, reported, result)
    result.needed_shims += [shim for shim in _beside_own(src, own) if shim not in result.needed_shims]
    for piece in pasted:
        if piece.text == DRIVER_PIECE:
            continue
        line, col = src.line_col(piece.token.start)
        text = piece.text.decode("latin-1")
        message = f"{text} is glued to another token by ##: the name it makes is not renamed"
        result.findings.append(Finding("KP204", src.path, line, col, message, Safety.MANUAL))
    return result


def _beside_own(src: CxxFile, own: frozenset[bytes]) -> list[Shim]:
    """Shims for names that the project overloads itself. Templates can stand beside a plain function of that name."""
    found = []
    for name in sorted(own & shims().keys()):
        shim = shims()[name]
        is_called = name + b"(" in src.data
        if is_called and f"{name.decode()}(T" in shim.text and shim.guard not in src.data and shim not in found:
            found.append(shim)
    return found


def rename_text(text: bytes, own: frozenset[bytes], wanted: Callable[[str], bool] = lambda name: True) -> bytes:
    """A rule's replacement text with its names renamed: it takes the place of source that was not looked at here."""
    snippet = CxxFile("", text, "cuda")
    uses, _ = names_used(snippet, own)
    for use in reversed(uses):
        if use.name.hip and use.name.cuda not in _LEFT_TO_RULES and wanted(use.name.cuda):
            text = text[: use.token.start] + use.name.hip.encode() + text[use.token.end :]
    return text


def _rename(src: CxxFile, use: Use) -> tuple[Edit, ...]:
    edit = Edit(Span(use.token.start, use.token.end), use.name.hip.encode())
    around = wrapping(src, use)
    if around is None:
        return (edit,)
    (first, before), (last, after) = around
    return (edit, Edit(Span(first, first), before), Edit(Span(last, last), after))


def _remarks(src: CxxFile, use: Use, reported: set[str], result: Naming) -> None:
    if use.name.cuda in reported:
        return
    if use.name.status == "signature":
        reported.add(use.name.cuda)
        result.findings.append(
            _finding(src, use, "KP203", f"{use.name.cuda} and {use.name.hip} take different arguments", use.name.note)
        )
    elif use.name.status == "deprecated":
        reported.add(use.name.cuda)
        result.findings.append(_finding(src, use, "KP205", f"{use.name.hip} is deprecated in HIP", use.name.note))


def without_counterpart(src: CxxFile, use: Use) -> Finding:
    """The finding for a name that HIP does not have."""
    return _finding(src, use, "KP202", f"{use.name.cuda} has no HIP counterpart", use.name.note)


def _finding(src: CxxFile, use: Use, code: str, message: str, note: str) -> Finding:
    line, col = src.line_col(use.token.start)
    return Finding(code, src.path, line, col, f"{message}: {note}" if note else message, Safety.MANUAL)


def _headers(src: CxxFile, is_local: IsLocal, result: Naming) -> None:
    for include in includes_in(src):
        change = header_change(include)
        if change is None or not is_string(src, include.start) or is_local(include):
            continue
        result.headers.append((include, change))
        shim = shims().get(_WITH_SHIM_HEADERS.get(include.name, b""))
        if shim is not None and shim not in result.needed_shims and shim.guard not in src.data:
            result.needed_shims.append(shim)
        if change.path is None:
            result.untranslated += 1
            if change.code == RULES_OWN:
                continue
            line, col = src.line_col(include.start)
            result.findings.append(Finding(change.code, src.path, line, col, change.message, Safety.MANUAL))
            continue
        result.translated += 1
        text = change.path.encode()
        result.groups.append((include.name, (Edit(Span(include.start + 1, include.end - 1), text),)))


def needs_runtime_header(src: CxxFile, naming: Naming, is_local: IsLocal) -> bool:
    """Whether HIP's runtime header must be put first: nvcc includes CUDA's by itself before a .cu file.

    True where the file's code, or a header of the project, comes before the first include that brings it.
    """
    if src.data.startswith(f"#include <{RUNTIME_HEADER}>".encode(), top_of_file(src)):
        return False
    bringing = {include.start for include, change in naming.headers if change.path == RUNTIME_HEADER}
    by_start = {include.start: include for include in includes_in(src)}
    depth = 0
    in_directive_until = -1
    for token in src.code:
        if token.kind == "directive":
            word = src.text(token).replace(b" ", b"").replace(b"\t", b"")
            depth += word.startswith(b"#if")
            depth -= word == b"#endif"
            in_directive_until = _directive_end(src.data, token.end)
            continue
        include = by_start.get(token.start)
        if include is not None:
            if (token.start in bringing or include.name == RUNTIME_HEADER) and depth == 0:
                return False
            if is_local(include):
                return True
        elif token.start >= in_directive_until:
            return True
    return False


def _directive_end(data: bytes, start: int) -> int:
    while True:
        end = data.find(b"\n", start)
        if end < 0:
            return len(data)
        if not data[start:end].rstrip(b"\r").endswith(b"\\"):
            return end
        start = end + 1


def top_of_file(src: CxxFile) -> int:
    """Where a line may be put first: after the byte order mark, the comments that open the file and its guard."""
    if not src.code:
        return len(src.data)
    first = src.code[0]
    guard = _GUARD.match(src.data, first.start)
    if guard is not None:
        return guard.end()
    start = src.line_span(first.start)[0]
    return start if not src.data[start : first.start].strip() else first.start


_GUARD = re.compile(
    rb"#[ \t]*pragma[ \t]+once[ \t]*\r?\n|#[ \t]*ifndef[ \t]+(\w+)[ \t]*\r?\n[ \t]*#[ \t]*define[ \t]+\1[ \t]*\r?\n"
)


def newline_of(src: CxxFile) -> bytes:
    """The file's own line ending."""
    end = src.data.find(b"\n")
    return b"\r\n" if end > 0 and src.data[end - 1 : end] == b"\r" else b"\n"
