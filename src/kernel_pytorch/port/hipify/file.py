"""One file from CUDA to HIP: rules, names, headers, in the layout asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Edit, Finding, Held, Safety
from kernel_pytorch.port.cxx.calls import calls
from kernel_pytorch.port.cxx.compiled_on_rocm import compiled_findings, compiled_text
from kernel_pytorch.port.cxx.device_code import device_region_at
from kernel_pytorch.port.cxx.includes import Include
from kernel_pytorch.port.cxx.reparse import is_read_alike
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import BOM, Unit, unit_of
from kernel_pytorch.port.edits import EditSet
from kernel_pytorch.port.file_failure import failure_finding
from kernel_pytorch.port.hipify.large import rename_large
from kernel_pytorch.port.layouts import layout_named
from kernel_pytorch.port.layouts.layout import Draft, Layout
from kernel_pytorch.port.names.compat_header import COMPAT_HEADER, Needs, goes_into_compat_header
from kernel_pytorch.port.names.glued import add_glued
from kernel_pytorch.port.names.headers import RUNTIME_HEADER
from kernel_pytorch.port.names.implicit import implicit_headers
from kernel_pytorch.port.names.rename import (
    IsLocal,
    Naming,
    name_file,
    needs_runtime_header,
    newline_of,
    rename_text,
    top_of_file,
)
from kernel_pytorch.port.names.shims import (
    Shim,
    is_left_by_torch,
    may_need_overloads,
    overloads_called,
    overloads_needed,
    shims,
    with_needed,
)
from kernel_pytorch.port.names.table import Name, names_used, project_names
from kernel_pytorch.port.ptx.ops_matrix import FUNCTIONS as MATRIX_FUNCTIONS
from kernel_pytorch.port.rules import rules_for, run_rules
from kernel_pytorch.port.suppress import apply_suppressions
from kernel_pytorch.port.wave.collectives import is_wave_file

WAVES = ("logical32", "native")
# Functions of ours that edits may call.
_OWN_CALL = re.compile(
    rb"\b("
    + "|".join(("kpt_wave", "kpt_compile_program", "kpt_create_program", "kpt_reads_done", *MATRIX_FUNCTIONS)).encode()
    + rb")[(<]"
)
_DEFINED = re.compile(rb"__device__ inline \w+ (\w+)\(")  # a function that a rule has put on top of the file
MAX_PASSES = 4


@dataclass(frozen=True)
class HipifyOptions:
    """How to port a C++ file. `rules` are codes to run (None: all); `unsafe` applies edits that need a review as well.

    `shims_beside`: what HIP lacks comes from a header beside the file instead of its top. The caller writes it.
    """

    layout: str = "copy"
    wave: str = "logical32"
    rules: tuple[str, ...] | None = None
    unsafe: bool = False
    shims_beside: bool = False

    def __post_init__(self) -> None:
        layout_named(self.layout)
        if self.wave not in WAVES:
            raise UsageError(f"wave {self.wave!r} is not known: expected one of {', '.join(WAVES)}")


@dataclass(frozen=True)
class HipifiedFile:
    """What became of one file. `names` are table names it uses; `translated` and `untranslated` count references.

    `shims` and `implicit` (C headers) are what the file needs and HIP does not give by itself.
    `is_failed`: kpt failed on the file; a finding says so, and the bytes are as they were.
    """

    path: str
    before: bytes
    after: bytes
    findings: tuple[Finding, ...] = ()
    held: tuple[Held, ...] = ()
    names: tuple[Name, ...] = ()
    headers: tuple[tuple[str, str | None], ...] = ()
    translated: int = 0
    untranslated: int = 0
    applied: tuple[str, ...] = ()
    shims: tuple[Shim, ...] = ()
    implicit: tuple[str, ...] = ()
    is_failed: bool = False

    @property
    def changed(self) -> bool:
        """Whether the bytes differ."""
        return self.before != self.after

    @property
    def needs(self) -> Needs:
        """What the file wants of the header that gives CUDA's names."""
        includes = (*(path for _, path in self.headers if path and goes_into_compat_header(path)), *self.implicit)
        names = tuple((name.cuda, name.hip) for name in self.names if name.hip or name.cuda.encode() in shims())
        return Needs(includes, names, self.shims, self.headers)


def hipify_file(
    src: CxxFile, unit: Unit | None = None, options: HipifyOptions | None = None, is_local: IsLocal | None = None
) -> HipifiedFile:
    """Ports one file as part of its unit. The same input gives the same bytes; a second run changes nothing."""
    options = options or HipifyOptions()
    unit = unit or unit_of(src)
    if unit.has_marks:
        # A byte order mark is no part of the first line, and stays in front of whatever is put there.
        bare = {id(file): _without_mark(file) for file in unit.files}
        inner = bare.get(id(src)) or _without_mark(src)
        made = hipify_file(inner, Unit(tuple(bare[id(file)] for file in unit.files), unit.wave), options, is_local)
        mark = BOM if src.data.startswith(BOM) else b""
        return replace(made, before=src.data, after=mark + made.after)
    first, edits = _one_pass(src, unit, options, is_local)
    if not first.changed or not _depends_on_parser(src) or not src.tree.root_node.has_error:
        return first
    # What a parser makes of broken code depends on what stands around it, which the edits changed.
    last = first
    for number in range(MAX_PASSES):
        again = replace(src, data=last.after)
        if number == 0 and _is_read_alike(src, again, edits):
            return first
        seen = Unit(tuple(again if file is src else file for file in unit.files), unit.wave)
        last, _ = _one_pass(again, seen, options, is_local)
        if not last.changed:
            more = tuple(shim for shim in last.shims if shim not in first.shims)
            return replace(first, after=last.after, shims=(*first.shims, *more))
    message = "broken C++ that reads otherwise after every change: left as it is"
    note = Finding("KP002", src.path, 1, 1, message, Safety.MANUAL)
    return HipifiedFile(src.path, src.data, src.data, (note, *first.findings), untranslated=first.untranslated)


def hipify_or_say(src: CxxFile, unit: Unit, options: HipifyOptions, is_local: IsLocal | None = None) -> HipifiedFile:
    """The same for files of a stranger's: one that kpt fails on stays as it is, with a finding."""
    try:
        return hipify_file(src, unit, options, is_local)
    except Exception as problem:
        return HipifiedFile(src.path, src.data, src.data, (failure_finding(src.path, problem),), is_failed=True)


def _without_mark(file: CxxFile) -> CxxFile:
    return replace(file, data=file.data[len(BOM) :]) if file.data.startswith(BOM) else file


def _depends_on_parser(src: CxxFile) -> bool:
    """Whether a rule looks at the file's tree: those about waves do. The others read tokens, which nothing breaks."""
    return src.is_parsable and is_wave_file(src)


def _is_read_alike(src: CxxFile, again: CxxFile, edits: EditSet) -> bool:
    """Whether the edits are all that changed, and the parser reads the rest as before: then another pass would find
    what the first one found. Gates move whole lines, which is more than the edits say."""
    if edits.apply(src.data) != again.data or not again.is_parsable:
        return False
    return is_read_alike(src.tree.root_node, again.tree.root_node, edits)


def _one_pass(
    src: CxxFile, unit: Unit, options: HipifyOptions, is_local: IsLocal | None
) -> tuple[HipifiedFile, EditSet]:
    """The file ported once, and the edits that were made."""
    edits = EditSet()
    return _ported(src, unit, options, is_local, edits), edits


def _ported(src: CxxFile, unit: Unit, options: HipifyOptions, is_local: IsLocal | None, edits: EditSet) -> HipifiedFile:
    layout = layout_named(options.layout)
    if src.data.find(b"\0", 0, 8192) >= 0:
        # Binary, or UTF-16: neither is C++ as a compiler would read it.
        message = "not text in an ASCII-compatible encoding: left as it is"
        note = Finding("KP001", src.path, 1, 1, message, Safety.MANUAL)
        return HipifiedFile(src.path, src.data, src.data, (note,))
    if PurePosixPath(src.path).name == COMPAT_HEADER:
        return HipifiedFile(src.path, src.data, src.data)
    is_local = is_local or _within(unit, src)
    own = project_names(src, unit.files)
    if not src.is_parsable:
        return _names_only(src, own, is_local, layout)
    naming = name_file(src, own, is_local)
    add_glued(src, unit, own, naming, layout.has_one_header)
    if not src.path.endswith(".c"):
        _add_overloads(src, naming)
    if src.language == "cuda":
        _add_shims(src, unit, naming, layout)
    found = tuple(apply_suppressions(src.data, src.path, rule_findings(src, unit, options)))
    if layout.is_built_by_torch:
        found = tuple(one for one in found if not _is_done_by_torch(src, one))
    applied, held = _apply(found, edits, own, options)
    _add_called_by_edits(src, unit, naming, edits)
    if layout.has_one_header:
        _add_named_by_edits(naming, edits, own)
    replaced = [(src.line_col(start), src.line_col(end)) for start, end, _ in edits if start < end]
    done = layout.lay_out(Draft(src, unit, naming, edits, is_local, options.shims_beside))
    # A name that a rule has replaced needs no counterpart, and a rule's own words about a name are enough.
    reported = {(one.line, one.col) for one in found}
    defined = {name for start, end, text in edits if start == end for name in _DEFINED.findall(text)}
    unmapped = [
        one
        for one in naming.findings
        if not any(first <= (one.line, one.col) < last for first, last in replaced)
        and (one.code != "KP202" or (one.line, one.col) not in reported)
        and (one.code != "KP202" or one.message.split()[0].encode() not in defined)
        and (one.code != "KP233" or not any(other.code == "KP233" for other in found))  # said once for a file
    ]
    findings = (*found, *compiled_findings(src, unmapped), *(_cannot_gate(src, place) for place in done.dropped))
    return HipifiedFile(
        src.path,
        src.data,
        done.data,
        tuple(sorted(findings, key=lambda item: (item.line, item.col, item.code))),
        held,
        tuple(naming.used.values()),
        tuple((include.name, change.path) for include, change in naming.headers),
        naming.translated,
        naming.untranslated,
        applied,
        tuple(naming.needed_shims),
        implicit_headers(unit) if src.path.endswith(".cu") else (),
    )


def _add_overloads(src: CxxFile, naming: Naming) -> None:
    """The overloads for calls with CUDA's arguments where HIP's differ. C has no overloads."""
    called = overloads_called(naming.used, lambda name: {len(call.arguments) for call in calls(src, name.encode())})
    naming.needed_shims += [shim for shim in called if shim not in naming.needed_shims and shim.guard not in src.data]


def _add_shims(src: CxxFile, unit: Unit, naming: Naming, layout: Layout) -> None:
    """The functions that HIP lacks and the file calls, besides those that its names show, less those it has already."""
    needed: list[Shim] = []
    if may_need_overloads(src):
        needed += overloads_needed(
            src,
            compiled_text(src),
            unit.texts,
            lambda offset: device_region_at(src, offset) is not None,
            lambda offset: (region := device_region_at(src, offset)) is None or region.is_host_too,
        )
    if layout.is_built_by_torch and src.holds(b"cub::") and is_left_by_torch(compiled_text(src)):
        needed.append(shims()[b"cub::"])
    naming.needed_shims += [shim for shim in needed if shim.guard not in src.data]
    given = _given_beside(src, unit)
    naming.needed_shims = [
        shim for shim in with_needed(naming.needed_shims) if shim.guard not in given and shim.guard not in src.data
    ]


def _add_called_by_edits(src: CxxFile, unit: Unit, naming: Naming, edits: EditSet) -> None:
    called = {call.group(1) for _, _, text in edits for call in _OWN_CALL.finditer(text)}
    given = _given_beside(src, unit)
    for shim in with_needed(shims()[name] for name in sorted(called)):
        if shim not in naming.needed_shims and shim.guard not in src.data and shim.guard not in given:
            naming.needed_shims.append(shim)


def _add_named_by_edits(naming: Naming, edits: EditSet, own: frozenset[bytes]) -> None:
    """CUDA's names that edits write: the one header has to give them too."""
    for _, _, text in edits:
        for use in names_used(CxxFile("", text, "cuda"), own)[0] if text else ():
            if use.name.hip:
                naming.used.setdefault(use.name.cuda, use.name)


def _apply(
    found: Iterable[Finding], edits: EditSet, own: frozenset[bytes], options: HipifyOptions
) -> tuple[tuple[str, ...], tuple[Held, ...]]:
    """Adds the edits of findings that may be applied. Gives their codes, and those that were held back."""
    renames = layout_named(options.layout).renames
    applied: list[str] = []
    held: list[Held] = []
    for finding in found:
        if not finding.edits:
            continue
        if finding.safety is Safety.REVIEW and not options.unsafe:
            held.append(Held(finding, "needs a review: applied only when asked for"))
            continue
        if edits.add([Edit(edit.span, rename_text(edit.text, own, renames)) for edit in finding.edits]):
            applied.append(finding.code)
        else:
            held.append(Held(finding, "overlaps an edit already made"))
    return tuple(applied), tuple(held)


def _names_only(src: CxxFile, own: frozenset[bytes], is_local: IsLocal, layout: Layout) -> HipifiedFile:
    """A file too large to analyse. Where lines would stand behind gates it stays as it is."""
    after, naming = rename_large(src, own, is_local)
    what = "names and headers only" if layout.writes_twins else "left as it is"
    message = f"{src.why_not_parsed}: too large to analyse, {what}"
    note = Finding("KP002", src.path, 1, 1, message, Safety.MANUAL)
    if layout.writes_twins and src.path.endswith(".cu"):
        head = CxxFile(src.path, src.data[:4096], src.language)
        if needs_runtime_header(head, naming, is_local):
            place = top_of_file(head)
            after = after[:place] + f"#include <{RUNTIME_HEADER}>".encode() + newline_of(head) + after[place:]
    return HipifiedFile(
        src.path,
        src.data,
        after if layout.writes_twins else src.data,
        (note, *naming.findings),
        names=tuple(naming.used.values()),
        headers=tuple((include.name, change.path) for include, change in naming.headers),
        translated=naming.translated,
        untranslated=naming.untranslated,
    )


def rule_findings(src: CxxFile, unit: Unit, options: HipifyOptions) -> Iterable[Finding]:
    """What the rules find in a file. One nested too deeply to analyse says so."""
    return run_rules(rules_for(src.language, options.rules), src, unit)


def _within(unit: Unit, src: CxxFile) -> IsLocal:
    """An include is local if a file of the unit has that path, as seen from the includer or from any folder above."""
    paths = {file.path for file in unit.files}
    folder = PurePosixPath(src.path).parent

    def is_local(include: Include) -> bool:
        name = include.name
        while name.startswith("../"):
            name = name[3:]
        beside = (folder / include.name).as_posix()
        return beside in paths or any(path == name or path.endswith(f"/{name}") for path in paths)

    return is_local


def _given_beside(src: CxxFile, unit: Unit) -> bytes:
    """The compatibility header beside a file that includes it: an earlier port wrote it."""
    if f'"{COMPAT_HEADER}"'.encode() not in src.data:
        return b""
    beside = unit.file((PurePosixPath(src.path).parent / COMPAT_HEADER).as_posix())
    return beside.data if beside is not None else b""


def _is_done_by_torch(src: CxxFile, finding: Finding) -> bool:
    """Whether all a finding asks for is a rename that torch's build makes by itself, in headers too."""
    renames = [(src.data[edit.span.start : edit.span.end], edit.text) for edit in finding.edits]
    return bool(renames) and all(one == (b"__CUDACC__", b"__HIPCC__") for one in renames)


def _cannot_gate(src: CxxFile, place: int) -> Finding:
    line, col = src.line_col(place)
    message = "the edit crosses a preprocessor conditional: no gate can stand around it, the line is left as it was"
    return Finding("KP003", src.path, line, col, message, Safety.MANUAL)
