"""Reads clang's and lld's messages, and names the cause where it is one we know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

_LOCATED = re.compile(
    r"^(?P<path>(?:[A-Za-z]:)?[^:\n]+?):(?P<line>\d+):(?P<column>\d+): "
    r"(?P<severity>fatal error|error|warning|note): (?P<text>.*)$"
)
_DRIVER = re.compile(r"^(?:[\w.+-]*clang[\w.+-]*|zig|ld\.lld|lld): (?P<severity>error|warning): (?P<text>.*)$")
_BACKEND = re.compile(r"^(?P<severity>fatal error|error): (?P<text>.*)$")
_INCLUDED = re.compile(r"^In file included from (?P<path>.+?):(?P<line>\d+):")
_FIX_IT = re.compile(
    r'^fix-it:"(?P<path>[^"]+)":\{(?P<line>\d+):(?P<column>\d+)-(?P<end_line>\d+):(?P<end_column>\d+)\}:"(?P<text>.*)"$'
)
_CALLED_FROM = re.compile(r"requested here$|in instantiation of|while substituting|called by '|expanded from macro")


@dataclass(frozen=True)
class CompilerMessage:
    """One message of the compiler. `path` is None for messages of the driver or the linker.

    `code` is the KP code of the cause where the text shows one; empty otherwise.
    """

    path: str | None
    line: int
    column: int
    severity: str  # "error", "warning" or "note"
    text: str
    code: str = ""

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}:{self.column}: " if self.path is not None else ""
        code = f" [{self.code}]" if self.code else ""
        return f"{where}{self.severity}: {self.text}{code}"


@dataclass(frozen=True)
class FixIt:
    """An edit that clang itself proposes: replace from one place up to another by a text."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """One error with the notes that belong to it and the edits that clang proposes for it."""

    error: CompilerMessage
    notes: tuple[CompilerMessage, ...] = ()
    fixes: tuple[FixIt, ...] = ()


# Cause by text, first match wins. Kept as a table: a new cause is a new row.
_VENDOR_HEADERS = (
    r"cublas|cufft|curand|cusparse|cusolver|cudnn|cutlass|cute|cub|nccl|thrust|nvml|nvToolsExt|npp|nvtx3|"
    r"hipblas|hipblaslt|hipcub|hipfft|hiprand|hipsolver|hipsparse|rocblas|rocfft|rocprim|rocrand|rocsolver|rocsparse|"
    r"rocthrust|rocwmma|miopen|rccl|hiptensor|composable_kernel|ck|hip(?:blas|fft|rand|sparse|solver)-common"
)
_CUDA_HEADERS = (
    r"cuda|cuda_[\w/]+|cuda/[\w/.]+|cooperative_groups|cooperative_groups/[\w/]+|mma|device_launch_parameters|helper_\w+|"
    r"driver_types|vector_types|math_constants|nvrtc|sm_\d+_\w+|device_functions|builtin_types|texture_fetch_functions"
)
_CAUSES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), code)
    for pattern, code in (
        (r"mask must be a 64-bit integer", "KP301"),
        (r"(?i)invalid (?:input|output) constraint '[=+]?[hrlfd]'", "KP230"),
        (r"(?i)couldn't allocate (?:input|output) reg(?:ister)? for constraint '[hrlfd]'", "KP230"),
        (rf"'(?:{_VENDOR_HEADERS})(?:[/_.-][\w/.-]*)?' file not found", "KP210"),
        (rf"'(?:{_CUDA_HEADERS})(?:\.h|\.hpp|\.cuh)?' file not found", "KP201"),
        (r"use of undeclared (?:library function|identifier) '(?:__\w+|cuda\w+|cu[A-Z]\w+|atomic\w+)'", "KP202"),
        (r"no matching function for call to '__(?:dp[24]a\w*|v[a-z]+[24]|shfl\w*|nv\w*|cvta\w*|ld\w+|st\w+)'", "KP202"),
        (r"unknown type name 'cuda\w+'", "KP202"),
    )
)

# These two need more than the error's own line: clang names warpSize, and shows the assembler text, below it.
_CONSTANT_WANTED = re.compile(
    r"constant expression|constant size|variable.length array|"
    r"invalid explicitly-specified argument for template parameter"
)
_NAMES_WARP_SIZE = re.compile(r"\bwarpSize\b|__hip_builtin_warpSize|wavefrontsize")
_ASSEMBLER_ERROR = re.compile(
    r"(?i)<inline asm>|invalid (?:instruction|operand)|unknown token|constraint '|expected |unexpected token|"
    r"not a valid operand"
)
_PTX = re.compile(
    r"%(?:laneid|warpid|smid|clock|lanemask_\w+|tid\.|ctaid\.)|\b(?:ld|st|mov|cvt|shfl|bar|mma|cp|add|sub|mul|mad|fma|red|"
    r"atom|prmt|lop3|bfe|bfi|bfind|vote|ex2|lg2|rcp|sqrt|rsqrt|tanh|membar|fence|cvta|setp|selp)(?:\.[a-z]\w*)+"
)


def parse_messages(stderr: str, headers: Sequence[str] = ()) -> tuple[CompilerMessage, ...]:
    """Every message in a compiler's output, in order, with KP codes where the cause is known.

    `headers` are directories of the toolchain. An error inside them is given the place in the user's own file that
    led there: the call that was instantiated, or the #include.
    """
    messages: list[CompilerMessage] = []
    following: list[list[str]] = []
    includes: list[tuple[str, int]] = []
    included_from: list[tuple[tuple[str, int], ...]] = []
    for raw in stderr.splitlines():
        line = raw.rstrip()
        included = _INCLUDED.match(line)
        if included is not None:
            includes.append((included["path"], int(included["line"])))
            continue
        message = _parse_line(line)
        if message is not None:
            messages.append(message)
            following.append([])
            included_from.append(tuple(includes))
            includes = []
        elif following:
            following[-1].append(raw)
    placed = [_at_users_place(messages, index, included_from[index], headers) for index in range(len(messages))]
    return tuple(_with_code(message, _context(messages, following, i)) for i, message in enumerate(placed))


def read_diagnostics(stderr: str) -> tuple[Diagnostic, ...]:
    """The errors in a compiler's output where the compiler puts them. Fix-its: with -fdiagnostics-parseable-fixits."""
    found: list[tuple[CompilerMessage, list[CompilerMessage], list[FixIt]]] = []
    is_warning = True
    for raw in stderr.splitlines():
        message = _parse_line(raw.rstrip())
        if message is not None:
            is_warning = message.severity == "warning" or (is_warning and message.severity == "note")
            if message.severity == "error":
                found.append((message, [], []))
            elif not is_warning and found:
                found[-1][1].append(message)
            continue
        fix = None if is_warning or not found else _FIX_IT.match(raw)
        if fix is not None:
            line, column, end_line, end_column = map(int, fix.group("line", "column", "end_line", "end_column"))
            text = _unescaped(fix["text"])
            found[-1][2].append(FixIt(fix["path"], line, column, end_line, end_column, text))
    return tuple(Diagnostic(error, tuple(notes), tuple(fixes)) for error, notes, fixes in found)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), text)


def errors(messages: tuple[CompilerMessage, ...]) -> tuple[CompilerMessage, ...]:
    """The errors among the messages."""
    return tuple(message for message in messages if message.severity == "error")


def undefined_symbols(linker_output: str) -> tuple[str, ...]:
    """Names that lld could not resolve, each once, in order."""
    names = re.findall(r"undefined (?:hidden |protected |internal )?symbol: (.+)", linker_output)
    return tuple(dict.fromkeys(name.strip() for name in names))


def _parse_line(line: str) -> CompilerMessage | None:
    located = _LOCATED.match(line)
    if located is not None and not located["path"].startswith("<inline asm>"):
        return CompilerMessage(
            located["path"],
            int(located["line"]),
            int(located["column"]),
            located["severity"].replace("fatal ", ""),
            located["text"],
        )
    plain = _DRIVER.match(line) or _BACKEND.match(line)
    if plain is not None:
        return CompilerMessage(None, 0, 0, plain["severity"].replace("fatal ", ""), plain["text"])
    return None


def _at_users_place(
    messages: list[CompilerMessage], index: int, includes: tuple[tuple[str, int], ...], headers: Sequence[str]
) -> CompilerMessage:
    message = messages[index]
    if message.severity == "note" or message.path is None or not _is_below(message.path, headers):
        return message
    for note in messages[index + 1 :]:
        if note.severity != "note":
            break
        if note.path is not None and _CALLED_FROM.search(note.text) and not _is_below(note.path, headers):
            return replace(message, path=note.path, line=note.line, column=note.column)
    for path, line in reversed(includes):
        if not _is_below(path, headers) and not path.startswith("<"):
            return replace(message, path=path, line=line, column=1)
    return message


def _is_below(path: str, directories: Sequence[str]) -> bool:
    return any(path.startswith(directory.rstrip("/") + "/") for directory in directories)


def _context(messages: list[CompilerMessage], following: list[list[str]], index: int) -> str:
    """The source lines shown below a message, and the notes that belong to it."""
    lines = [messages[index].text, *following[index]]
    for later in range(index + 1, len(messages)):
        if messages[later].severity != "note":
            break
        lines += [messages[later].text, *following[later]]
    return "\n".join(lines)


def _with_code(message: CompilerMessage, context: str) -> CompilerMessage:
    if message.severity == "note":
        return message
    code = next((code for pattern, code in _CAUSES if pattern.search(message.text)), "")
    if not code and _CONSTANT_WANTED.search(context) and _NAMES_WARP_SIZE.search(context):
        code = "KP308"
    if not code and message.severity == "error" and _ASSEMBLER_ERROR.search(message.text) and _PTX.search(context):
        code = "KP230"
    if not code:
        return message
    return replace(message, code=code)
