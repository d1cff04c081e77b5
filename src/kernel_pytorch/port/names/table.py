"""The table of names, and where a file uses them.

Only whole identifier tokens count. Strings, comments, members (`a.cudaFoo`), names qualified by somebody else's
namespace and names the project declares itself are left alone.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from kernel_pytorch.port.cxx.lexer import Token
from kernel_pytorch.port.cxx.source import CxxFile, pieces, read_once
from kernel_pytorch.port.cxx.tokens import words
from kernel_pytorch.port.names.pieces import may_be_piece


class Name(NamedTuple):
    """One row of the table. `hip` is empty where there is no counterpart."""

    cuda: str
    hip: str
    kind: str
    library: str
    status: str
    since: str
    note: str


class Use(NamedTuple):
    """One use of a table name: its place among `src.code` and the row."""

    at: int
    token: Token
    name: Name


class Pasted(NamedTuple):
    """A piece of a CUDA name glued to something by `##`."""

    token: Token
    text: bytes


@lru_cache(maxsize=1)
def _rows() -> dict[bytes, bytes]:
    """CUDA name -> rest of the line. Rows are split when asked for: most are never used in one run."""
    data = files("kernel_pytorch.port.tables").joinpath("cuda_names.csv").read_bytes()
    pairs = (line.split(b",", 1) for line in data.split(b"\n")[1:] if line)
    return {cuda: rest for cuda, rest in pairs if not _is_header_row(rest)}


def _is_header_row(rest: bytes) -> bool:
    return rest.split(b",", 2)[1] == b"header"


@lru_cache(maxsize=4096)
def find_name(cuda: bytes) -> Name | None:
    """The row of a CUDA name."""
    rest = _rows().get(cuda)
    if rest is None:
        return None
    hip, kind, library, status, since, note = rest.decode("utf-8").split(",", 5)
    return Name(cuda.decode("ascii"), hip, kind, library, status, since, note)


@lru_cache(maxsize=1)
def _hip_types() -> frozenset[bytes]:
    """HIP's names of types: what a declaration has after a port, where CUDA's name was."""
    rests = (rest.split(b",", 2) for rest in _rows().values())
    return frozenset(hip for hip, kind, _ in rests if hip and kind == b"type")


def all_names() -> Iterator[Name]:
    """Every row that is no header."""
    return (name for name in map(find_name, _rows()) if name is not None)


@lru_cache(maxsize=1)
def torch_gaps() -> frozenset[str]:
    """Names and headers of the table that torch's own hipify leaves alone."""
    text = files("kernel_pytorch.port.tables").joinpath("torch_hipify_gaps.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


@lru_cache(maxsize=1)
def header_rows() -> dict[str, Name]:
    """The rows of headers, by include path."""
    data = files("kernel_pytorch.port.tables").joinpath("cuda_names.csv").read_text(encoding="utf-8")
    rows = (Name(*line.split(",", 6)) for line in data.splitlines()[1:] if ",header," in line)
    return {row.cuda: row for row in rows if row.kind == "header"}


def load_table() -> None:
    """Reads what the first file would read: processes that are copies of this one have it then."""
    _rows()
    header_rows()


# Words after which a name is a use of that name, not the name of something being declared.
_NOT_TYPES = frozenset(
    b"return else case goto throw new delete sizeof alignof typeid typedef typename struct class enum union const "
    b"constexpr static inline extern volatile mutable register friend virtual explicit public private protected "
    b"using namespace operator "
    b"co_return co_await co_yield do and or not template thread_local auto decltype".split()
)
_BASIC_TYPES = frozenset(b"int char void float double bool unsigned long short size_t".split())
_AFTER_DECLARATOR = frozenset((b"=", b";", b",", b")", b"[", b"{", b":"))
_NAMESPACES_OF_VENDORS = frozenset((b"cub", b"hipcub", b"thrust", b"cooperative_groups", b"cg", b"nvcuda", b"std"))


def names_used(src: CxxFile, own: frozenset[bytes] = frozenset()) -> tuple[list[Use], list[Pasted]]:
    """The uses of table names in a file, in order, and the pasted pieces. `own` are names the project declares."""
    uses: list[Use] = []
    pasted: list[Pasted] = []
    found = _candidates(src)
    if not found:
        return uses, pasted
    data, code = src.data, src.code
    rows = _rows()
    for index in found:
        token = code[index]
        text = data[token.start : token.end]
        known = text in rows
        before = _text(data, code, index - 1)
        after = _text(data, code, index + 1)
        if before == b"##" or after == b"##":
            if may_be_piece(text):
                pasted.append(Pasted(token, text))
            continue
        if not known or text in own or before in (b".", b"->") or (before == b"::" and _is_foreign(data, code, index)):
            continue
        name = find_name(text)
        if name is None or (name.kind == "namespace" and not _is_namespace_use(data, code, index, after)):
            continue
        uses.append(Use(index, token, name))
    return uses, pasted


@read_once
def own_names(src: CxxFile) -> frozenset[bytes]:
    """The table names a file declares itself: macros, variables, types and functions of the project."""
    if not _wanted(src):
        return frozenset()
    if not src.is_parsable:
        return frozenset().union(*(_own_names(piece) for piece in pieces(src)))
    return _own_names(src)


def _own_names(src: CxxFile) -> frozenset[bytes]:
    data, code = src.data, src.code
    rows = _rows()
    own: set[bytes] = set()
    for index in _candidates(src):
        text = data[code[index].start : code[index].end]
        if text in rows and text not in own and _is_declared_at(data, code, index):
            own.add(text)
    if b"enum" in data:
        own.update(name for name in _enumerators(data, code) if name in rows)
    return frozenset(own)


@read_once
def table_words(src: CxxFile) -> frozenset[bytes]:
    """The words of a file that are names of the table, whatever they mean there."""
    return frozenset(src.vocabulary & _rows().keys())


@read_once
def _wanted(src: CxxFile) -> frozenset[bytes]:
    """The words of a file that are in the table, or may be a piece of a name in it."""
    known = table_words(src)
    # A word is a piece of a name only where the preprocessor glues something to it.
    return known | set(filter(may_be_piece, src.vocabulary)) if b"##" in src.data else known


@read_once
def _candidates(src: CxxFile) -> list[int]:
    """Places of those words among `src.code`. A file without any is not split into tokens."""
    wanted = _wanted(src)
    if not wanted:
        return []
    known = words(src)
    return sorted(index for name in wanted for index in known.get(name))


_SOURCE_SUFFIXES = (".cu", ".cpp", ".cc", ".cxx", ".c", ".hip")


@lru_cache(maxsize=2)
def _project_names(files: tuple[CxxFile, ...]) -> tuple[frozenset[bytes], dict[str, frozenset[bytes]]]:
    """The table names that all of a set of files see declared, and those that one source alone sees."""
    included = {name for file in files for name in _included_sources(file)}
    shared: set[bytes] = set()
    private: dict[str, frozenset[bytes]] = {}
    for file in files:
        own = own_names(file)
        name = file.path.rsplit("/", 1)[-1]
        if not own or not name.endswith(_SOURCE_SUFFIXES) or os.fsencode(name) in included:
            shared |= own
            continue
        # A type or macro of one source is unknown to the next; a function may be declared there and linked.
        linked = {one for one in own if (row := find_name(one)) is not None and row.kind.endswith("function")}
        shared |= linked
        private[file.path] = own - linked
    return frozenset(shared), private


_INCLUDED_SOURCE = re.compile(rb"#[ \t]*include[ \t]*[<\"](?:[^\">\n]*/)?([^\">/\n]+\.(?:cu|cpp|cc|cxx|c|hip))[\">]")


@read_once
def _included_sources(src: CxxFile) -> list[bytes]:
    found: list[bytes] = _INCLUDED_SOURCE.findall(src.data)
    return found


def project_names(src: CxxFile, files: tuple[CxxFile, ...]) -> frozenset[bytes]:
    """The table names that a file sees declared by the project: by itself, by headers, by what has linkage."""
    shared, private = _names_of_all(files)
    return shared | private.get(src.path, frozenset())


def _names_of_all(files: tuple[CxxFile, ...]) -> tuple[frozenset[bytes], dict[str, frozenset[bytes]]]:
    """The same again for the tuple that was asked for last: to hash a large unit takes as long as to port a file."""
    global _asked_last
    if _asked_last is None or _asked_last[0] is not files:
        _asked_last = files, _project_names(files)
    return _asked_last[1]


_asked_last: tuple[tuple[CxxFile, ...], tuple[frozenset[bytes], dict[str, frozenset[bytes]]]] | None = None


def _text(data: bytes, code: Sequence[Token], index: int) -> bytes:
    if 0 <= index < len(code):
        _, start, end = code[index]
        return data[start:end]
    return b""


def _is_foreign(data: bytes, code: Sequence[Token], index: int) -> bool:
    """`mine::cudaFoo` is somebody else's; `::cudaFoo` is not."""
    if index < 2 or code[index - 2].kind != "identifier":
        return index >= 2 and _text(data, code, index - 2) == b">"
    return _text(data, code, index - 2) not in _NAMESPACES_OF_VENDORS | _NOT_TYPES


def _is_namespace_use(data: bytes, code: Sequence[Token], index: int, after: bytes) -> bool:
    before = _text(data, code, index - 1)
    if after == b"::" or before == b"namespace":
        if before != b"::" or index < 2 or code[index - 2].kind != "identifier":
            return True
        return _text(data, code, index - 2) in _NOT_TYPES  # `typedef ::cub::BlockLoad<...>`
    return before == b"=" and _text(data, code, index - 3) == b"namespace"


_BEFORE_DECLARED = frozenset((b"*", b"&", b"&&", b"}"))


def _is_declared_at(data: bytes, code: Sequence[Token], index: int) -> bool:
    before = _text(data, code, index - 1)
    if index and code[index - 1].kind == "punct" and before not in _BEFORE_DECLARED:
        return False  # almost all uses are a call, an argument or the start of a statement
    after = _text(data, code, index + 1)
    name = find_name(data[code[index].start : code[index].end])
    if name is None or name.kind == "namespace":
        return False
    if code[index - 1].kind == "directive" if index else False:
        return before.replace(b" ", b"").replace(b"\t", b"") == b"#define"
    if before in (b"struct", b"class", b"union", b"enum"):
        return after == b"{" or (after == b":" and name.kind == "type")
    if after == b"(":
        return _follows_type(data, code, index, on_its_line=False) and _is_definition(data, code, index + 1)
    if before == b"}" and after == b";" and name.kind == "type":
        return True  # `typedef struct CUuuid_st { ... } CUuuid;`
    if after not in _AFTER_DECLARATOR or (after == b":" and name.kind != "type"):
        return False
    return _follows_type(data, code, index) and not (before in (b"*", b"&") and name.kind in ("enum", "macro"))


def _enumerators(data: bytes, code: Sequence[Token]) -> Iterator[bytes]:
    """The names that the enumerations of a file give to values."""
    done = 0
    for found in _ENUM.finditer(data):
        index = bisect_left(code, found.start(), lo=done, key=lambda token: token.start)
        if index >= len(code) or code[index].start != found.start():
            continue  # in a comment or a string, or inside another enumeration
        done = index + 1
        while done < min(index + 6, len(code)) and _text(data, code, done) not in (b"{", b";", b"(", b")", b"="):
            done += 1
        depth = 0
        while done < len(code) and (text := _text(data, code, done)) not in (b"}", b";"):
            if text in (b"{", b",") and not depth:
                yield _text(data, code, done + 1)
            depth += (text == b"(") - (text == b")")
            done += 1


_ENUM = re.compile(rb"\benum\b[^;{}()]{0,200}\{")


def _follows_type(data: bytes, code: Sequence[Token], index: int, *, on_its_line: bool = True) -> bool:
    """Whether what stands before is a type, so that the token names something new."""
    back = index - 1
    before = _text(data, code, back)
    if before in (b"*", b"&", b"&&"):
        while before in (b"*", b"&", b"&&", b"const", b"__restrict__"):
            back -= 1
            before = _text(data, code, back)
        name = find_name(before)
        if name is not None:
            return name.kind == "type"
        return before in _BASIC_TYPES or before in _hip_types()
    if back < 0 or code[back].kind != "identifier" or before in _NOT_TYPES:
        return False
    # `__global__ cudaFoo(...)`: a qualifier, not a type; a directive's words (#ifdef X cudaFoo) do not get here.
    if before.startswith(b"__") or before.isupper():
        return False
    # A function's type often has a line of its own; elsewhere a word on the line before belongs to something else.
    return not on_its_line or b"\n" not in data[code[back].end : code[index].start]


def _is_definition(data: bytes, code: Sequence[Token], opening: int) -> bool:
    closing = matching(data, code, opening)
    if closing is None:
        return False
    following = closing + 1
    while _text(data, code, following) in (b"const", b"noexcept", b"override"):
        following += 1
    return _text(data, code, following) == b"{"


_CLOSERS = {b"(": b")", b"[": b"]", b"{": b"}"}
_LONGEST_CALL = 4000


def matching(data: bytes, code: Sequence[Token], opening: int) -> int | None:
    """The index of the bracket that closes the one at `opening`; None if it is not within reach."""
    stack: list[bytes] = []
    for index in range(opening, min(len(code), opening + _LONGEST_CALL)):
        token = code[index]
        if token.kind != "punct" or token.end - token.start != 1:
            continue
        text = data[token.start : token.end]
        if text in _CLOSERS:
            stack.append(_CLOSERS[text])
        elif stack and text == stack[-1]:
            stack.pop()
            if not stack:
                return index
        elif text in (b")", b"]", b"}"):
            return None
    return None


def arguments(data: bytes, code: Sequence[Token], opening: int) -> list[tuple[int, int]] | None:
    """The byte spans of the arguments of the call whose `(` is at `opening`; None where it does not close."""
    closing = matching(data, code, opening)
    if closing is None:
        return None
    spans: list[tuple[int, int]] = []
    depth = 0
    first = opening + 1
    for index in range(opening + 1, closing + 1):
        text = _text(data, code, index)
        if text in _CLOSERS:
            depth += 1
        elif index == closing or (text == b"," and depth == 0):
            if index > first:
                spans.append((code[first].start, code[index - 1].end))
            first = index + 1
        elif text in (b")", b"]", b"}"):
            depth -= 1
    return spans
