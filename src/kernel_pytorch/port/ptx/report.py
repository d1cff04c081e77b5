"""The asm statements of a file in C++ where that is exact, sorted by the finding they belong to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.findings import Edit, Finding
from kernel_pytorch.port.cxx.device_code import DeviceRegion, device_region_at
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import macros_of
from kernel_pytorch.port.ptx.asm_statement import AsmStatement, asm_statements
from kernel_pytorch.port.ptx.lower import Context
from kernel_pytorch.port.ptx.rewrite import RewrittenAsm, looks_like_ptx, note_for, rewrite_asm
from kernel_pytorch.port.rule import Rule

_SHOWN = 4
_SOURCES = (".cu", ".cpp", ".cc", ".cxx", ".c")


@dataclass(frozen=True)
class AsmReport:
    """One asm statement, what became of it, and the code of its finding."""

    statement: AsmStatement
    rewritten: RewrittenAsm
    code: str


@lru_cache(maxsize=4)
def asm_reports(src: CxxFile) -> tuple[AsmReport, ...]:
    """Every statement of inline PTX in a file. Host assembly and empty compiler barriers are not PTX."""
    reports: list[AsmReport] = []
    for statement in asm_statements(src):
        region = device_region_at(src, statement.span.start)
        if statement.template is not None and not statement.template.strip():
            continue
        if not looks_like_ptx(statement) or (
            statement.template is None and region is None and not statement.in_directive
        ):
            continue
        context = Context(in_kernel_body=region is not None and region.is_kernel and not statement.in_directive)
        rewritten = rewrite_asm(statement, context)
        reports.append(AsmReport(statement, rewritten, _code_of(rewritten)))
    return tuple(reports)


def _code_of(rewritten: RewrittenAsm) -> str:
    codes = {note.code for name in rewritten.opcodes if (note := note_for(name)) is not None}
    return max(codes, default="KP230") if codes - {"KP230"} else "KP230"


def findings_with_code(
    rule: Rule,
    src: CxxFile,
    *,
    one_for_each_function: bool = False,
    nearest: Callable[[CxxFile], str | None] = lambda _: None,
) -> Iterator[Finding]:
    """The findings of the asm statements that belong to one rule.

    `one_for_each_function`: statements of one function that are left for a person are one finding. `nearest` says who
    has a kernel like the file's on AMD.
    """
    reports = [report for report in asm_reports(src) if report.code == rule.code and not _is_unused(src, report)]
    left: dict[DeviceRegion, int] = {}
    for report in reports:
        region = device_region_at(src, report.statement.span.start)
        if one_for_each_function and report.rewritten.replacement is None and region is not None:
            left[region] = left.get(region, 0) + 1
    for report in reports:
        text = describe(report)
        edits: tuple[Edit, ...] = ()
        if report.rewritten.replacement is not None:
            replacement = report.rewritten.replacement.encode("utf-8", "surrogateescape")
            edits = (Edit(report.statement.span, _indented(src, report.statement, replacement)),)
        else:
            region = device_region_at(src, report.statement.span.start)
            count = left.pop(region, 0) if region is not None and one_for_each_function else 1
            if not count:
                continue
            more = f" ({counted(count - 1, 'more such statement')} in this function)" if count > 1 else ""
            whole = nearest(src)
            text += more + (f"; for the whole kernel, {whole}" if whole else "")
        yield rule.finding(src, report.statement.span, text, edits)


def _is_unused(src: CxxFile, report: AsmReport) -> bool:
    """Whether a statement that has no translation stands in a macro that its source file never uses. A header's macros
    may be for files that we do not see."""
    if report.rewritten.replacement is not None or not report.statement.in_directive or not src.path.endswith(_SOURCES):
        return False
    at = report.statement.span.start
    names = [macro.name for macro in macros_of(src) if macro.body_start <= at < macro.body_end]
    return len(names) == 1 and len(re.findall(rb"\b%b\b" % names[0], src.data)) == 1


def _indented(src: CxxFile, statement: AsmStatement, replacement: bytes) -> bytes:
    if b"\n" not in replacement:
        return replacement
    start, _ = src.line_span(statement.span.start)
    line = src.data[start : statement.span.start]
    indent = line[: len(line) - len(line.lstrip())]
    ending = b"\r\n" if src.data[start : start + 4096].find(b"\r\n") >= 0 else b"\n"
    return replacement.replace(b"\n", ending + indent)


def describe(report: AsmReport) -> str:
    """What the statement does, and why it was left, in one line."""
    opcodes = list(dict.fromkeys(report.rewritten.opcodes))
    parts = []
    for name in opcodes[:_SHOWN]:
        note = note_for(name)
        register = _special_register(report, name)
        what = f"reads {register}" if register else note.what if note else ""
        parts.append(f"{name} ({what})" if what else name)
    more = f" and {len(opcodes) - _SHOWN} more" if len(opcodes) > _SHOWN else ""
    listed = ", ".join(parts) + more or "inline PTX"
    if report.rewritten.replacement is not None:
        return f"PTX {listed} does not assemble for AMD: written in C++"
    hint = _nearest(opcodes)
    return f"PTX {listed} does not assemble for AMD and has no exact C++ form: {report.rewritten.obstacle}{hint}"


def _special_register(report: AsmReport, name: str) -> str:
    """`%laneid` where a mov reads it."""
    found = re.search(rf"{re.escape(name)}\s+[^,;]+,\s*%+([a-z]\w*(?:\.[xyz])?)\s*;?", report.statement.template or "")
    return f"%{found.group(1)}" if found and name.startswith("mov.") else ""


def _nearest(opcodes: list[str]) -> str:
    hard = [note for name in opcodes if (note := note_for(name)) is not None and note.effort]
    if not hard:
        return ""
    order = ("minutes", "hours", "days", "weeks")
    worst = max(hard, key=lambda note: order.index(note.effort))
    return f"; nearest on AMD: {worst.amd} (effort: {worst.effort})"
