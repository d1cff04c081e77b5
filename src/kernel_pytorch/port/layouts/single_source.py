"""One source for both vendors: CUDA's names stay, and a header of ours defines them on ROCm."""

from __future__ import annotations

import re
from dataclasses import replace

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.compiled_on_rocm import is_compiled
from kernel_pytorch.port.layouts.gates import behind_gates
from kernel_pytorch.port.layouts.layout import Draft, LaidOut
from kernel_pytorch.port.names.compat_header import COMPAT_HEADER, goes_into_compat_header
from kernel_pytorch.port.names.rename import needs_runtime_header, newline_of, top_of_file

# Two of CUDA's headers side by side are our one.
_REPEATED = re.compile(rb'(?m)^([ \t]*#[ \t]*include[ \t]+"%s"[ \t]*\r?\n)\1+' % re.escape(COMPAT_HEADER.encode()))
# `typedef struct CUstream_st *Stream;`: a header that declares what a handle points at needs no header of CUDA's, and
# may come before ours. Its name is changed where it stands.
_OPAQUE = "_st"


def single_source(draft: Draft) -> LaidOut:
    """The file with every changed line behind a gate, and our header where CUDA's was."""
    src, edits = draft.src, draft.edits
    is_first = _needs_compat_line(draft)
    changed = [(include, change.path) for include, change in draft.naming.headers if change.path is not None]
    alive = [(include, path) for include, path in changed if is_compiled(src, include.start)]
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
    for name, group in draft.naming.groups:
        if name.endswith(_OPAQUE) and all(is_compiled(src, edit.span.start) for edit in group):
            draft.rename(group)
    done = behind_gates(src, edits)
    return replace(done, data=_REPEATED.sub(rb"\1", done.data))


def _needs_compat_line(draft: Draft) -> bool:
    """Whether the compatibility header must come first: nvcc includes CUDA's runtime header by itself."""
    if not draft.src.path.endswith(".cu") or COMPAT_HEADER.encode() in draft.src.data:
        return False
    if needs_runtime_header(draft.src, draft.naming, draft.is_local):
        return True
    # A file of preprocessor lines alone has code once a rule has put a function on top of it.
    place = top_of_file(draft.src)
    return not draft.naming.headers and any(start == end == place for start, end, _ in draft.edits)
