"""HIP files beside the originals: names, headers and edits, no gates."""

from __future__ import annotations

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.includes import Include, includes_in
from kernel_pytorch.port.cxx.run_time_sources import CUDA_FILE
from kernel_pytorch.port.cxx.unit import unit_of
from kernel_pytorch.port.layouts.layout import Draft, LaidOut
from kernel_pytorch.port.names.headers import RELY_ON_RUNTIME, RUNTIME_HEADER
from kernel_pytorch.port.names.implicit import half_blas, implicit_headers, includes_header
from kernel_pytorch.port.names.rename import needs_runtime_header, newline_of, top_of_file


def copy(draft: Draft) -> LaidOut:
    """The file with HIP's names in it, and what HIP lacks at its top."""
    src, edits = draft.src, draft.edits
    top = _top(draft)
    if top:
        place = top_of_file(src)
        edits.add([Edit(Span(place, place), top)])
    edits.add(half_blas(src, draft.unit, draft.naming))
    for _, group in draft.naming.groups:
        draft.rename(group)
    for group in draft.naming.glued:
        edits.add(group)
    edits.add(_local_cuda_includes(draft))
    edits.add(_files_read_at_run_time(draft))
    return LaidOut(edits.apply(src.data))


def _local_cuda_includes(draft: Draft) -> list[Edit]:
    """`#include "kernels.cu"` follows the file to its new name."""
    return [
        Edit(Span(include.end - 4, include.end - 1), b".hip")
        for include in includes_in(draft.src)
        if include.name.endswith(".cu") and draft.is_local(include)
    ]


def _files_read_at_run_time(draft: Draft) -> list[Edit]:
    """A kernel file that is compiled while the program runs (nvrtc) and is named in a string: it has a new name too."""
    src = draft.src
    if b'.cu"' not in src.data:
        return []
    included = {include.start for include in includes_in(src)}
    return [
        Edit(Span(token.end - 4, token.end - 1), b".hip")
        for token in src.code
        if token.kind == "string"
        and token.start not in included
        and (name := CUDA_FILE.fullmatch(src.text(token))) is not None
        and draft.is_local(Include(name.group(1).decode(), True, token.start, token.end))
    ]


def _top(draft: Draft) -> bytes:
    src, naming = draft.src, draft.naming
    newline = newline_of(src)
    paths: list[str] = []
    if src.path.endswith(".cu"):
        if needs_runtime_header(src, naming, draft.is_local):
            paths.append(RUNTIME_HEADER)
        paths.extend(header for header in implicit_headers(draft.unit) if not includes_header(src, header))
    elif any(change.path == RUNTIME_HEADER for _, change in naming.headers):
        # A header that brings CUDA's runtime in itself may be included from where this unit does not see.
        paths.extend(header for header in implicit_headers(unit_of(src)) if not includes_header(src, header))
    relies = any(change.path in RELY_ON_RUNTIME for _, change in naming.headers)
    if (naming.needed_shims or relies) and RUNTIME_HEADER not in paths:
        paths.insert(0, RUNTIME_HEADER)
    parts = [b"#include <" + path.encode() + b">" + newline for path in paths]
    parts.extend(shim.guarded(newline.decode()).encode() for shim in naming.needed_shims)
    return b"".join(parts)
