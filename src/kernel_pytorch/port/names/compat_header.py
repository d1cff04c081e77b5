"""Headers of our own: CUDA's names for HIP's things in the single-source layout, functions HIP lacks in the others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.port.names.headers import RUNTIME_HEADER
from kernel_pytorch.port.names.shims import Shim, shims, with_needed

COMPAT_HEADER = "kpt_hip_compat.h"
_TOP = """\
// Made by `kpt`: CUDA's names on AMD, those this project uses.
// Under CUDA this file says nothing. Regenerate it rather than edit it.
#pragma once
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
"""
# Sources in C that draw random numbers: ROCm's hiprand.h names a type that only its C++ headers declare.
_HALF_IN_C = """\
#if !defined(__cplusplus) && !defined(KPT_HALF_IN_C)
#define KPT_HALF_IN_C
typedef struct { unsigned short x; } __half;
#endif
"""
_SHIMS_TOP = """\
// Made by `kpt port`: functions of CUDA that HIP lacks, those the files of this folder call.
// Under CUDA this file says nothing.
#pragma once
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
"""


@dataclass(frozen=True)
class Needs:
    """What one file wants of the header: includes, (CUDA, HIP) name pairs and functions that HIP lacks.

    `headers` are the pairs of all headers of CUDA's that the file includes, without a partner where HIP needs none.
    """

    includes: tuple[str, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    shims: tuple[Shim, ...] = ()
    headers: tuple[tuple[str, str | None], ...] = ()


def goes_into_compat_header(path: str) -> bool:
    """Whether a header may be included by every file, C++ files of the host compiler too: HIP's own are made for that.

    A library's header stays where CUDA's was: it may need HIP's compiler (hipCUB), or stand behind an option.
    """
    return path.startswith("hip/")


def needs_in(text: str) -> Needs:
    """What a header made before gives: a file ported then shows less of it now, behind its own gates."""
    guards = set(re.findall(r"^#ifndef (KPT_SHIM_\w+)$", text, re.MULTILINE))
    given = {shim.guard: shim for shim in shims().values() if shim.guard.decode() in guards}
    includes = re.findall(r"^#include <(.+)>$", text.partition("#ifndef KPT_SHIM_")[0], re.MULTILINE)
    last = re.search(r"((?:^#define \w+ \S.*\n)*)#endif\n\Z", text, re.MULTILINE)
    names = re.findall(r"^#define (\w+) (\S.*)$", last.group(1) if last else "", re.MULTILINE)
    return Needs(tuple(includes), tuple(names), tuple(given.values()))


def compat_header(needs: Iterable[Needs]) -> str:
    """The text of the header for a project."""
    includes: dict[str, None] = {RUNTIME_HEADER: None}
    names: dict[str, str] = {}
    given: dict[str, Shim] = {}
    for one in needs:
        includes.update(dict.fromkeys(one.includes))
        names.update(one.names)
        given.update((shim.guard.decode(), shim) for shim in one.shims)
    lines = [_TOP]
    lines += [f"#include <{path}>\n" for path in includes]
    if any(hip.startswith("hiprand") for hip in names.values()):
        lines.append(_HALF_IN_C)
    for cuda in names:
        shim = shims().get(cuda.encode())
        if shim is not None:
            given[shim.guard.decode()] = shim
    texts = [shim.guarded() for shim in _ordered(given.values())]
    lines += [text for text in texts if not _is_for_devices(text)]
    for_devices = [text for text in texts if _is_for_devices(text)]
    if for_devices:
        # The host's compiler includes the header too, and knows no builtins of the device.
        lines += ["#if defined(__HIPCC__)\n", *for_devices, "#endif\n"]
    lines += [f"#define {cuda} {hip}\n" for cuda, hip in sorted(names.items()) if hip]
    lines.append("#endif\n")
    return "".join(lines)


def shim_headers(root: Path, needs: Mapping[str, Needs]) -> dict[str, tuple[bytes | None, bytes]]:
    """One header for each folder with files that need functions HIP lacks: its path, what it was, what it becomes.

    `needs` are by path of the file. What a header has already stays.
    """
    folders: dict[PurePosixPath, dict[str, Shim]] = {}
    for path, one in needs.items():
        if one.shims:
            needed = folders.setdefault(PurePosixPath(path).parent, {})
            needed.update((shim.guard.decode(), shim) for shim in one.shims)
    made: dict[str, tuple[bytes | None, bytes]] = {}
    for folder, wanted in folders.items():
        path = (folder / COMPAT_HEADER).as_posix()
        before = read_if_there(root / path, root)
        kept = {shim.guard.decode(): shim for shim in shims().values() if before and shim.guard in before}
        given = {**kept, **wanted}
        lines = [_SHIMS_TOP, f"#include <{RUNTIME_HEADER}>\n"]
        lines += [shim.guarded(beside_host_compiler=True) for shim in _ordered(given.values())]
        made[path] = (before, "".join([*lines, "#endif\n"]).encode("utf-8", "surrogateescape"))
    return made


def _is_for_devices(text: str) -> bool:
    return "__device__" in text and "__host__" not in text


def _ordered(given: Iterable[Shim]) -> list[Shim]:
    """One order for one set of shims, however it was asked for: by name, each behind what it needs."""
    return with_needed(sorted(with_needed(given), key=lambda shim: shim.guard))
