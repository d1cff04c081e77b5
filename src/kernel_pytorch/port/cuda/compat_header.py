"""The one header of the single-source layout: CUDA's names for HIP's things, only those the project uses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernel_pytorch.port.cuda.headers import RUNTIME_HEADER
from kernel_pytorch.port.cuda.shims import shims
from kernel_pytorch.port.cuda.translate import Translation

_TOP = """\
// Made by `kpt hipify --layout single-source`: CUDA's names on AMD, those this project uses.
// Under CUDA this file says nothing. Regenerate it rather than edit it.
#pragma once
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
"""


@dataclass(frozen=True)
class Needs:
    """What one file wants of the header: HIP includes and (CUDA, HIP) name pairs."""

    includes: tuple[str, ...] = ()
    names: tuple[tuple[str, str], ...] = ()


def needs_of(result: Translation) -> Needs:
    """The wants of one translated file."""
    includes = tuple(path for _, path in result.headers if path)
    names = tuple((name.cuda, name.hip) for name in result.names if name.hip or name.cuda.encode() in shims())
    return Needs(includes, names)


def compat_header(needs: Iterable[Needs]) -> str:
    """The text of the header for a project."""
    includes: dict[str, None] = {RUNTIME_HEADER: None}
    names: dict[str, str] = {}
    for one in needs:
        includes.update(dict.fromkeys(one.includes))
        names.update(one.names)
    lines = [_TOP]
    lines += [f"#include <{path}>\n" for path in includes]
    written: set[str] = set()
    for cuda in sorted(names):
        shim = shims().get(cuda.encode())
        if shim is not None and shim.guard.decode() not in written:
            written.add(shim.guard.decode())
            lines.append(shim.guarded())
    lines += [f"#define {cuda} {hip}\n" for cuda, hip in sorted(names.items()) if hip]
    lines.append("#endif\n")
    return "".join(lines)
