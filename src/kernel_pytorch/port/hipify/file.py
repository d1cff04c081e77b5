"""One file from CUDA to HIP: rules, names, headers, in the layout asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Edit, Finding, Held, Safety, Span
from kernel_pytorch.port.cxx.compiled_on_rocm import compiled_text, is_dead, left_out_regions
from kernel_pytorch.port.cxx.reading import device_region_at
from kernel_pytorch.port.cxx.unit import Include, Unit, includes_of, unit_of
from kernel_pytorch.port.file_failure import failure_finding
from kernel_pytorch.port.hipify.edits import EditSet
from kernel_pytorch.port.hipify.large import rename_large
from kernel_pytorch.port.layouts.single_source import single_source
from kernel_pytorch.port.names.headers import RUNTIME_HEADER
from kernel_pytorch.port.names.implicit import half_blas, implicit_headers, includes_header
from kernel_pytorch.port.names.rename import (
    IsLocal,
    Naming,
    name_file,
    needs_runtime_header,
    newline_of,
    rename_text,
    top_of_file,
)
from kernel_pytorch.port.names.shims import Shim, is_cub_header_left_by_torch, is_left_by_torch, overloads_needed, shims
from kernel_pytorch.port.names.table import Name, project_names, torch_gaps
from kernel_pytorch.port.rules import rules_for, run_rules
from kernel_pytorch.port.source import SourceFile
from kernel_pytorch.port.suppress import apply_suppressions

LAYOUTS = ("copy", "single-source", "torch-extension")
WAVES = ("logical32", "native")
COMPAT_HEADER = "kpt_hip_compat.h"
WAVE_CALL = b"kpt_wave("
MAX_PASSES = 4
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class TranslateOptions:
    """How to translate. `rules` are codes to run (None: all); `unsafe` applies edits that need a review as well.

    `shims_beside`: what HIP lacks comes from a header beside the file instead of its top. The caller writes it.
    """

    layout: str = "copy"
    wave: str = "logical32"
    rules: tuple[str, ...] | None = None
    unsafe: bool = False
    shims_beside: bool = False

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise UsageError(f"layout {self.layout!r} is not known: expected one of {', '.join(LAYOUTS)}")
        if self.wave not in WAVES:
            raise UsageError(f"wave {self.wave!r} is not known: expected one of {', '.join(WAVES)}")


@dataclass(frozen=True)
class Translation:
    """What became of one file. `names` are table names it uses; `translated` and `untranslated` count references.

    `shims` and `implicit` (C headers) are what the file needs and HIP does not give by itself.
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
    applied: tuple[str, ...] = field(default=())
    shims: tuple[Shim, ...] = ()
    implicit: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the bytes differ."""
        return self.before != self.after


def translate(
    src: SourceFile, unit: Unit | None = None, options: TranslateOptions | None = None, is_local: IsLocal | None = None
) -> Translation:
    """Translates one file as part of its unit. The same input gives the same bytes; a result translates to itself."""
    options = options or TranslateOptions()
    unit = unit or unit_of(src)
    if any(file.data.startswith(BOM) for file in unit.files):
        # A byte order mark is no part of the first line, and stays in front of whatever is put there.
        bare = {id(file): _without_mark(file) for file in unit.files}
        inner = bare.get(id(src)) or _without_mark(src)
        made = translate(inner, Unit(tuple(bare[id(file)] for file in unit.files), unit.wave), options, is_local)
        mark = BOM if src.data.startswith(BOM) else b""
        return replace(made, before=src.data, after=mark + made.after)
    first = _translated_once(src, unit, options, is_local)
    if not first.changed or not src.is_parsable or not src.tree.root_node.has_error:
        return first
    # What a parser makes of broken code depends on what stands around it, which the edits changed.
    last = first
    for _ in range(MAX_PASSES):
        again = replace(src, data=last.after)
        seen = Unit(tuple(again if file is src else file for file in unit.files), unit.wave)
        last = _translated_once(again, seen, options, is_local)
        if not last.changed:
            more = tuple(shim for shim in last.shims if shim not in first.shims)
            return replace(first, after=last.after, shims=(*first.shims, *more))
    message = "broken C++ that reads otherwise after every change: left as it is"
    note = Finding("KP002", src.path, 1, 1, message, Safety.MANUAL)
    return Translation(src.path, src.data, src.data, (note, *first.findings), untranslated=first.untranslated)


def _without_mark(file: SourceFile) -> SourceFile:
    return replace(file, data=file.data[len(BOM) :]) if file.data.startswith(BOM) else file


def _translated_once(src: SourceFile, unit: Unit, options: TranslateOptions, is_local: IsLocal | None) -> Translation:
    if src.data.find(b"\0", 0, 8192) >= 0:
        # Binary, or UTF-16: neither is C++ as a compiler would read it.
        message = "not text in an ASCII-compatible encoding: left as it is"
        note = Finding("KP001", src.path, 1, 1, message, Safety.MANUAL)
        return Translation(src.path, src.data, src.data, (note,))
    if PurePosixPath(src.path).name == COMPAT_HEADER:
        return Translation(src.path, src.data, src.data)
    is_local = is_local or _within(unit, src)
    own = project_names(src, unit.files)
    if not src.is_parsable:
        return _names_only(src, own, is_local, options.layout)
    naming = name_file(src, own, is_local)
    if src.language == "cuda":
        texts = tuple(file.data for file in unit.files)
        live = compiled_text(src)
        needed = overloads_needed(live, texts, lambda offset: device_region_at(src, offset) is not None)
        if options.layout == "torch-extension" and is_left_by_torch(live):
            needed.append(shims()[b"cub::"])
        naming.needed_shims += [shim for shim in needed if shim.guard not in src.data]
        given = _given_beside(src, unit)
        naming.needed_shims = [shim for shim in naming.needed_shims if shim.guard not in given]
    found = tuple(apply_suppressions(src.data, src.path, rule_findings(src, unit, options)))
    if options.layout == "torch-extension":
        found = tuple(one for one in found if not _is_done_by_torch(src, one))
    edits = EditSet()
    held: list[Held] = []
    applied: list[str] = []
    for finding in found:
        if not finding.edits:
            continue
        if finding.safety is Safety.REVIEW and not options.unsafe:
            held.append(Held(finding, "needs a review: applied only when asked for"))
        elif edits.add(_in_layout(finding.edits, own, options.layout)):
            applied.append(finding.code)
            if any(WAVE_CALL in edit.text for edit in finding.edits):
                shim = shims()[b"kpt_wave"]
                naming.needed_shims += [shim] if shim not in naming.needed_shims else []
        else:
            held.append(Held(finding, "overlaps an edit already made"))
    replaced = [(src.line_col(start), src.line_col(end)) for start, end, _ in edits if start < end]
    after, ungated = _rendered(src, unit, naming, edits, is_local, options)
    # A name that a rule has replaced needs no counterpart, and one that a rule speaks about is not said twice.
    told = {(one.line, one.col) for one in found}
    unmapped = [
        one
        for one in naming.findings
        if not any(first <= (one.line, one.col) < last for first, last in replaced)
        and (one.code != "KP202" or (one.line, one.col) not in told)
    ]
    findings = (*found, *_compiled_for_rocm(src, unmapped))
    findings = (*findings, *(_cannot_gate(src, place) for place in ungated))
    return Translation(
        src.path,
        src.data,
        after,
        tuple(sorted(findings, key=lambda item: (item.line, item.col, item.code))),
        tuple(held),
        tuple(naming.used.values()),
        tuple((include.name, change.path) for include, change in naming.headers),
        naming.translated,
        naming.untranslated,
        tuple(applied),
        tuple(naming.needed_shims),
        implicit_headers(unit) if src.path.endswith(".cu") else (),
    )


def translate_or_say(
    src: SourceFile, unit: Unit, options: TranslateOptions, is_local: IsLocal | None = None
) -> Translation:
    """The same for files of a stranger's: one that kpt fails on stays as it is, with a finding."""
    try:
        return translate(src, unit, options, is_local)
    except Exception as problem:
        return Translation(src.path, src.data, src.data, (failure_finding(src.path, problem),))


def _names_only(src: SourceFile, own: frozenset[bytes], is_local: IsLocal, layout: str) -> Translation:
    """A file too large to analyse. Where lines would stand behind gates it stays as it is."""
    after, naming = rename_large(src, own, is_local)
    what = "names and headers only" if layout == "copy" else "left as it is"
    message = f"{src.why_not_parsed}: too large to analyse, {what}"
    note = Finding("KP002", src.path, 1, 1, message, Safety.MANUAL)
    if layout == "copy" and src.path.endswith(".cu"):
        head = SourceFile(src.path, src.data[:4096], src.language)
        if needs_runtime_header(head, naming, is_local):
            place = top_of_file(head)
            after = after[:place] + f"#include <{RUNTIME_HEADER}>".encode() + newline_of(head) + after[place:]
    return Translation(
        src.path,
        src.data,
        after if layout == "copy" else src.data,
        (note, *naming.findings),
        names=tuple(naming.used.values()),
        headers=tuple((include.name, change.path) for include, change in naming.headers),
        translated=naming.translated,
        untranslated=naming.untranslated,
    )


def _compiled_for_rocm(src: SourceFile, findings: Iterable[Finding]) -> Iterable[Finding]:
    """Without those in branches ROCm leaves out: a name that it never sees needs no counterpart there."""
    dead = [(src.line_col(start)[0], src.line_col(end)[0]) for start, end in left_out_regions(src)]
    return (one for one in findings if not any(first <= one.line < last for first, last in dead))


def rule_findings(src: SourceFile, unit: Unit, options: TranslateOptions) -> Iterable[Finding]:
    """What the rules find in a file. One nested too deeply to analyse says so."""
    return run_rules(rules_for(src.language, options.rules), src, unit)


def _within(unit: Unit, src: SourceFile) -> IsLocal:
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


def _in_layout(edits: tuple[Edit, ...], own: frozenset[bytes], layout: str) -> list[Edit]:
    if layout == "single-source":  # macros of the compatibility header rename
        return list(edits)
    wanted = _is_renamed_here if layout == "torch-extension" else lambda name: True
    return [Edit(edit.span, rename_text(edit.text, own, wanted)) for edit in edits]


def _is_renamed_here(name: str) -> bool:
    """Whether a name of a torch extension is ours to rename: torch's build renames what its own table knows."""
    return name in torch_gaps() or is_cub_header_left_by_torch(name)


def _rendered(
    src: SourceFile, unit: Unit, naming: Naming, edits: EditSet, is_local: IsLocal, options: TranslateOptions
) -> tuple[bytes, tuple[int, ...]]:
    if options.layout == "torch-extension":
        for name, group in naming.groups:
            if _is_renamed_here(name) and not any(is_dead(src, edit.span.start) for edit in group):
                _add_rename(edits, group)
        top = _top_of_extension(src, naming, options)
        if top:
            edits.add([Edit(Span(top_of_file(src), top_of_file(src)), top)])
        gated = single_source(src, edits)
        return gated.data, gated.dropped
    if options.layout == "single-source":
        is_first = _needs_compat_line(src, naming, is_local)
        changed = [(include, change.path) for include, change in naming.headers if change.path is not None]
        alive = [(include, path) for include, path in changed if not is_dead(src, include.start)]
        reaches = is_first or any(goes_into_compat_header(path) for _, path in alive)
        for include, path in alive:
            text = f'"{COMPAT_HEADER}"'.encode()
            if not goes_into_compat_header(path):
                text = f"<{path}>".encode() + (b"" if reaches else newline_of(src) + b"#include " + text)
                reaches = True
            edits.add([Edit(Span(include.start, include.end), text)])
        if is_first:
            place = top_of_file(src)
            line = f'#include "{COMPAT_HEADER}"'.encode() + newline_of(src)
            edits.add([Edit(Span(place, place), line)])
        gated = single_source(src, edits)
        return gated.data, gated.dropped
    top = _top(src, unit, naming, is_local)
    if top:
        place = top_of_file(src)
        edits.add([Edit(Span(place, place), top)])
    edits.add(half_blas(src, unit, naming))
    for _, group in naming.groups:
        _add_rename(edits, group)
    edits.add(_local_cuda_includes(src, is_local))
    return edits.apply(src.data), ()


def _add_rename(edits: EditSet, group: tuple[Edit, ...]) -> None:
    """The name, and what its call needs around an argument. A rule that rewrote the argument leaves the name to us."""
    if not edits.add(group):
        edits.add(group[:1])


def _top_of_extension(src: SourceFile, naming: Naming, options: TranslateOptions) -> bytes:
    """What stands first in a file of a torch extension: the functions HIP lacks, or the header that has them."""
    newline = newline_of(src)
    if not naming.needed_shims:
        return b""
    if options.shims_beside:
        line = f'#include "{COMPAT_HEADER}"'.encode()
        return b"" if line in src.data else line + newline
    shims = "".join(shim.guarded(newline.decode(), beside_host_compiler=True) for shim in naming.needed_shims)
    return f"#include <{RUNTIME_HEADER}>".encode() + newline + shims.encode()


def _given_beside(src: SourceFile, unit: Unit) -> bytes:
    """The compatibility header beside a file that includes it: an earlier port wrote it."""
    if f'"{COMPAT_HEADER}"'.encode() not in src.data:
        return b""
    beside = unit.file((PurePosixPath(src.path).parent / COMPAT_HEADER).as_posix())
    return beside.data if beside is not None else b""


def goes_into_compat_header(path: str) -> bool:
    """Whether a header may be included by every file, C++ files of the host compiler too: HIP's own are made for that.

    A library's header stays where CUDA's was: it may need HIP's compiler (hipCUB), or stand behind an option.
    """
    return path.startswith("hip/")


def _needs_compat_line(src: SourceFile, naming: Naming, is_local: IsLocal) -> bool:
    """Whether the compatibility header must come first: nvcc includes CUDA's runtime header by itself."""
    if not src.path.endswith(".cu") or COMPAT_HEADER.encode() in src.data:
        return False
    return needs_runtime_header(src, naming, is_local)


def _is_done_by_torch(src: SourceFile, finding: Finding) -> bool:
    """Whether all a finding asks for is a rename that torch's build makes by itself, in headers too."""
    renames = [(src.data[edit.span.start : edit.span.end], edit.text) for edit in finding.edits]
    return bool(renames) and all(one == (b"__CUDACC__", b"__HIPCC__") for one in renames)


def _cannot_gate(src: SourceFile, place: int) -> Finding:
    line, col = src.line_col(place)
    message = "the edit crosses a preprocessor conditional: no gate can stand around it, the line is left as it was"
    return Finding("KP003", src.path, line, col, message, Safety.MANUAL)


def _local_cuda_includes(src: SourceFile, is_local: IsLocal) -> list[Edit]:
    """`#include "kernels.cu"` follows the file to its new name."""
    changed = []
    for include in includes_of(src.data):
        if include.name.endswith(".cu") and is_local(include):
            changed.append(Edit(Span(include.end - 4, include.end - 1), b".hip"))
    return changed


def _top(src: SourceFile, unit: Unit, naming: Naming, is_local: IsLocal) -> bytes:
    newline = newline_of(src)
    paths: list[str] = []
    if src.path.endswith(".cu"):
        if needs_runtime_header(src, naming, is_local):
            paths.append(RUNTIME_HEADER)
        paths.extend(header for header in implicit_headers(unit) if not includes_header(src, header))
    elif any(change.path == RUNTIME_HEADER for _, change in naming.headers):
        # A header that brings CUDA's runtime in itself may be included from where this unit does not see.
        paths.extend(header for header in implicit_headers(unit_of(src)) if not includes_header(src, header))
    if naming.needed_shims and RUNTIME_HEADER not in paths:
        paths.insert(0, RUNTIME_HEADER)
    parts = [b"#include <" + path.encode() + b">" + newline for path in paths]
    parts.extend(shim.guarded(newline.decode()).encode() for shim in naming.needed_shims)
    return b"".join(parts)
