"""A static variable that is asked for by its name

What: cuModuleGetGlobal, cuLibraryGetGlobal, cudaLibraryGetGlobal, nvrtcAddNameExpression or nvrtcGetLoweredName with
    the name of a `static` or `const` variable in `__constant__` or `__device__` memory.
Why: NVRTC gives such a variable a symbol that can be found. clang gives it none: HIP's call fails with
    hipErrorNotFound.
Fix: If the program itself compiles the file, kpt leaves out the `static` when hipRTC compiles it: the call that kpt
    writes for nvrtcCompileProgram (KP254) defines KPT_AT_RUN_TIME. Such a file is a module of its own, so no other
    can have a variable of that name. Elsewhere it is left to you. Leave out the `static` in code that is compiled for
    AMD, also in source inside a string, and write `extern` before a `const`. kpt does not look at a string given to
    cudaGetSymbolAddress, because CUDA takes none since version 5.
Source: clang/lib/AST/ASTContext.cpp of LLVM, mayExternalize and shouldExternalize;
    https://docs.nvidia.com/cuda/nvrtc/index.html#accessing-lowered-names;
    https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_rtc.html
Since: 0.1.0
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import Call, calls
from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.hidden_variables import MEMORY, hidden_variables
from kernel_pytorch.port.cxx.includes import includes_in
from kernel_pytorch.port.cxx.run_time_sources import asks_by_name
from kernel_pytorch.port.cxx.source import CxxFile, read_once
from kernel_pytorch.port.names.rename import newline_of
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.unit import Unit

# Each call, and which of its arguments is the name.
_ASKS = {
    b"cuModuleGetGlobal": 3, b"cuModuleGetGlobal_v2": 3, b"cuLibraryGetGlobal": 3, b"cudaLibraryGetGlobal": 3,
    b"nvrtcAddNameExpression": 1, b"nvrtcGetLoweredName": 1,
}  # fmt: skip

RULE = Rule(
    "KP208",
    "static-by-name",
    languages=("cuda", "c++"),
    safety=Safety.SAFE,
    triggers=(*MEMORY, *_ASKS),
)

_NAME = re.compile(rb'"\s*&?\s*(?:\w*::)*(\w+)\s*"')
# Several programs that are linked while the program runs share their names.
_LINKED = (b"cuLinkAdd", b"nvJitLink", b"relocatable-device-code=true", b"-rdc=true", b"-dlto", b"dlink-time-opt")


@dataclass(frozen=True)
class _Asked:
    """Where a name is asked for."""

    path: str
    line: int
    by: str


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each such variable of a file, and each call whose variable stands in a string."""
    asked = _asked(unit)
    if not asked:
        return
    for name, index, is_const in hidden_variables(src):
        if name in asked:
            yield _at_declaration(src, unit, name, index, is_const, asked[name])
    if asks_by_name(src.data):
        yield from _at_calls(src, unit)


def _at_declaration(src: CxxFile, unit: Unit, name: bytes, index: int, is_const: bool, asked: _Asked) -> Finding:
    place = Span(src.code[index].start, src.code[index].end)
    message = (
        f"{name.decode()} is asked for by its name ({asked.by}, {asked.path}:{asked.line}): "
        f"a {'const' if is_const else 'static'} variable has no such symbol on AMD"
    )
    if is_const or is_in_directive(src, place.start) or not _is_compiled_by_program(src, unit):
        return RULE.finding(src, place, message)
    line, _ = src.line_span(place.start)
    newline = newline_of(src)
    following = src.code[index + 1].start
    opening = b"" if not src.data[line : place.start].strip() else newline
    gate = newline.join((b"#if !defined(KPT_AT_RUN_TIME)", b"static", b"#endif", b""))
    whole = Span(place.start if opening else line, following)
    return RULE.finding(src, place, message, [Edit(whole, opening + gate)])


def _is_compiled_by_program(src: CxxFile, unit: Unit) -> bool:
    """Whether the program gives this file to NVRTC, and to nobody who links the result with others."""
    if not any(_compiles(file) for file in unit.files) or any(word in text for word in _LINKED for text in unit.texts):
        return False
    files = {src.path.rpartition("/")[2]}
    files |= {
        one.path.rpartition("/")[2]
        for one in unit.files
        if any(include.name.rpartition("/")[2] in files for include in includes_in(one))
    }
    named = [re.compile(rb'"(?:[\w./-]*/)?%s"' % re.escape(name.encode())) for name in files if name.endswith(".cu")]
    return any(asks_by_name(text) and any(_stands_in_string(text, pattern) for pattern in named) for text in unit.texts)


def _compiles(file: CxxFile) -> bool:
    """Whether a file calls NVRTC where kpt writes another call for it: KP254 has none in C."""
    return file.holds(b"nvrtcCompileProgram") and not file.path.endswith(".c")


def _stands_in_string(text: bytes, pattern: re.Pattern[bytes]) -> bool:
    lines = (text[text.rfind(b"\n", 0, found.start()) + 1 : found.start()] for found in pattern.finditer(text))
    return any(not line.lstrip().startswith(b"#") for line in lines)


def _at_calls(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    named = {names[0] for _, names in _calls(src) if len(names) == 1}
    for call, names in _calls(src):
        for name in names if len(names) == 1 else set(names) - named:
            pattern = re.compile(
                rb"\bstatic\b[^;{}()]*\b__(?:constant|device)__[^;{}()]*\b%s\s*[\[=;{,]"
                rb"|\b__(?:constant|device)__[^;{}()]*\bstatic\b[^;{}()]*\b%s\s*[\[=;{,]" % (name, name)
            )
            if any(_is_in_a_string(file, pattern) for file in unit.files):
                message = f"the source in a string declares {name.decode()} static: it has no such symbol on AMD"
                yield RULE.finding(src, call.span, message)


def _is_in_a_string(file: CxxFile, pattern: re.Pattern[bytes]) -> bool:
    if not any(memory in file.data for memory in MEMORY):
        return False
    return any(pattern.search(file.data, start, end) for _, start, end in file.split.strings if end - start > 20)


@lru_cache(maxsize=2)
def _asked(unit: Unit) -> dict[bytes, _Asked]:
    """The names that the files of a unit ask for, with the first place."""
    found: dict[bytes, _Asked] = {}
    for file in unit.files:
        if file.is_parsable and asks_by_name(file.data):
            for call, names in _calls(file):
                line, _ = file.line_col(call.span.start)
                for name in names:
                    found.setdefault(name, _Asked(file.path, line, call.name.decode()))
    return found


def _calls(src: CxxFile) -> Iterator[tuple[Call, tuple[bytes, ...]]]:
    """Each call with the names that it may ask for: those of any string where its own argument is none."""
    for call in calls(src, *_ASKS):
        if len(call.arguments) <= _ASKS[call.name]:
            continue
        named = _NAME.fullmatch(call.argument(src, _ASKS[call.name]))
        if named is not None:
            yield call, (named[1],)
            continue
        yield call, _names_in_strings(src)


@read_once
def _names_in_strings(src: CxxFile) -> tuple[bytes, ...]:
    strings = (_NAME.fullmatch(src.data, start, end) for _, start, end in src.split.strings)
    return tuple(sorted({found[1] for found in strings if found is not None}))
