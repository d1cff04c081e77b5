"""A torch extension: torch's build renames what its own table knows, the rest stands behind gates."""

from __future__ import annotations

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.compiled_on_rocm import is_compiled
from kernel_pytorch.port.layouts.gates import behind_gates
from kernel_pytorch.port.layouts.layout import Draft, LaidOut
from kernel_pytorch.port.names.compat_header import COMPAT_HEADER
from kernel_pytorch.port.names.headers import RUNTIME_HEADER
from kernel_pytorch.port.names.rename import newline_of, top_of_file
from kernel_pytorch.port.names.shims import is_cub_header_left_by_torch
from kernel_pytorch.port.names.table import torch_gaps


def torch_extension(draft: Draft) -> LaidOut:
    """The file with the names that torch leaves, and every changed line behind a gate."""
    src, edits = draft.src, draft.edits
    for name, group in draft.naming.groups:
        if is_renamed_here(name) and all(is_compiled(src, edit.span.start) for edit in group):
            draft.rename(group)
    for group in draft.naming.glued:
        edits.add(group)
    top = _top(draft)
    if top:
        edits.add([Edit(Span(top_of_file(src), top_of_file(src)), top)])
    return behind_gates(src, edits)


def is_renamed_here(name: str) -> bool:
    """Whether a name is ours to rename: torch's build renames what its own table knows."""
    return name in torch_gaps() or is_cub_header_left_by_torch(name)


def _top(draft: Draft) -> bytes:
    """What stands first: the functions HIP lacks, or the header that has them."""
    src, shims = draft.src, draft.naming.needed_shims
    newline = newline_of(src)
    if not shims:
        return b""
    if draft.shims_beside:
        line = f'#include "{COMPAT_HEADER}"'.encode()
        return b"" if line in src.data else line + newline
    text = "".join(shim.guarded(newline.decode(), beside_host_compiler=True) for shim in shims)
    return f"#include <{RUNTIME_HEADER}>".encode() + newline + text.encode()
