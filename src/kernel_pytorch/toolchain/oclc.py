"""The control constants of AMD's device libraries, as LLVM IR.

ROCm ships them as one small bitcode file per value; PyPI's triton ships the libraries without them. They are
read at link time and folded away, so they must be right for the target: a wrong wave size or ISA version gives
code that links and computes nonsense.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import base_target, target

# Code object version 6 in the numbering of the device libraries (version * 100). clang 22 writes version 6 by default.
_ABI_VERSION = 600


def isa_version(target_name: str) -> int:
    """The device libraries' number of a target: gfx90a is 9010, gfx942 is 9402, gfx1201 is 12001."""
    match = re.fullmatch(r"gfx([0-9]+)([0-9a-f])([0-9a-f])", base_target(target_name))
    if match is None:
        raise UsageError(f"{target_name!r} is not a gfx target: expected a name such as gfx942")
    major, minor, stepping = match.groups()
    return int(major) * 1000 + int(minor, 16) * 100 + int(stepping, 16)


def wave_size(target_name: str, flags: Iterable[str] = ()) -> int:
    """The wave width the code is built for: the target's, unless -mwavefrontsize64 or its negation says otherwise."""
    width = target(target_name).wave_size
    for flag in flags:
        if flag == "-mwavefrontsize64":
            width = 64
        elif flag == "-mno-wavefrontsize64":
            width = 32
    return width


def control_constants(target_name: str, flags: Iterable[str] = ()) -> str:
    """LLVM IR defining every `__oclc_*` constant for a target and the floating-point flags in use."""
    flags = tuple(flags)
    width = wave_size(target_name, flags)
    values = (
        ("ISA_version", "i32", isa_version(target_name)),
        ("ABI_version", "i32", _ABI_VERSION),
        ("wavefrontsize64", "i8", int(width == 64)),
        ("wavefrontsize_log2", "i8", 6 if width == 64 else 5),
        ("finite_only_opt", "i8", int(_is_on(flags, "finite-math-only"))),
        ("unsafe_math_opt", "i8", int(_is_on(flags, "unsafe-math-optimizations"))),
        ("daz_opt", "i8", 0),
        ("correctly_rounded_sqrt32", "i8", int("-fno-hip-fp32-correctly-rounded-divide-sqrt" not in flags)),
    )
    lines = ['target triple = "amdgcn-amd-amdhsa"']
    for name, kind, value in values:
        align = 4 if kind == "i32" else 1
        place = "linkonce_odr hidden local_unnamed_addr addrspace(4) constant"
        lines.append(f"@__oclc_{name} = {place} {kind} {value}, align {align}")
    return "\n".join(lines) + "\n"


def _is_on(flags: tuple[str, ...], option: str) -> bool:
    state = False
    for flag in flags:
        if flag in ("-ffast-math", "-Ofast", f"-f{option}"):
            state = True
        elif flag in ("-fno-fast-math", f"-fno-{option}"):
            state = False
    return state
