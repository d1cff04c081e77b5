"""The macro by which a project's sources choose their own AMD branch: `#ifdef USE_HIP`, `#if defined(FOO_WITH_ROCM)`.

A port takes such branches as they are, so the build for AMD has to define the macro. A project that was built for AMD
by another build file (a Makefile of its own) says so there alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.findings import Patch
from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.port.build_files.cmake import PLATFORM
from kernel_pytorch.port.build_files.nvcc_flags import HIP_ARCH
from kernel_pytorch.port.cxx.compiled_on_rocm import is_own_switch

_CONDITION = re.compile(rb"^[ \t]*#[ \t]*(?:el)?if(?:n?def)?\b(.*)$", re.MULTILINE)
_DEFINE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_NAME = re.compile(rb"[A-Za-z_]\w*")
# HIP's compiler defines these, and a condition that asks for one of them needs no switch.
_GIVEN = (b"__HIP_PLATFORM_AMD__", b"__HIPCC__", b"__HIP__", b"__HIP_DEVICE_COMPILE__")
_USUAL = frozenset({b"USE_HIP", b"USE_ROCM"})
_HOST = "-D__HIP_PLATFORM_AMD__=1"


def switch_macros(root: Path, sources: Iterable[str], build_files: Iterable[str]) -> tuple[str, ...]:
    """The macros that the sources ask for and neither define themselves nor get from a definition of CMake's."""
    asked: set[bytes] = set()
    defined: set[bytes] = set()
    for path in sources:
        data = read_if_there(root / path, root) or b""
        if b"HIP" not in data and b"ROCM" not in data:
            continue
        defined.update(_DEFINE.findall(data))
        for condition in _CONDITION.findall(data):
            if not any(name in condition for name in _GIVEN):
                asked |= {name for name in _NAME.findall(condition) if name in _USUAL or is_own_switch(name)}
    asked -= defined
    texts = [read_if_there(root / path, root) or b"" for path in build_files] if asked else []
    return tuple(sorted(name.decode() for name in asked if not any(_is_defined(text, name) for text in texts)))


def _is_defined(text: bytes, name: bytes) -> bool:
    return re.search(rb"(?:-D\s*|_definitions\s*\([^()]*\b)%b\b" % name, text) is not None


def is_build_for_amd(patch: Patch) -> bool:
    """Whether a patch makes a file of CMake's build for AMD, or is a Makefile's twin."""
    return bool(_places(patch.path)) and any(old.encode() in patch.after for old in _places(patch.path))


def with_switches(patches: Sequence[Patch], macros: Sequence[str]) -> list[Patch]:
    """The patches of build files with the macros defined where they build for AMD."""
    flags = " ".join(f"-D{name}=1" for name in macros)
    definitions = " ".join(f"{name}=1" for name in macros)
    done = []
    for patch in patches if macros else ():
        after = patch.after
        for place in _places(patch.path):
            new = f"{place} {flags}" if place != PLATFORM else place.replace(")", f" {definitions})")
            after = after.replace(place.encode(), new.encode())
        done.append(replace(patch, after=after))
    return done or list(patches)


def _places(path: str) -> tuple[str, ...]:
    """Where a file that a port writes says what holds for AMD."""
    name = PurePosixPath(path).name.lower()
    if name == "cmakelists.txt" or name.endswith(".cmake"):
        return (PLATFORM,)
    return (f" {HIP_ARCH}", f" {_HOST}") if name.endswith(("file.hip", ".mk.hip")) else ()
