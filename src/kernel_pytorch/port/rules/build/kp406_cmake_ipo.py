"""CMake: interprocedural optimisation

What: INTERPROCEDURAL_OPTIMIZATION switched on in a file that builds CUDA code.
Why: Under HIP the link leaves bitcode in the library, and Python modules lose their PyInit function.
Fix: Off when USE_HIP is on.
Source: https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.build_files import cmake
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP406", "cmake-ipo", languages=("cmake",), safety=Safety.SAFE, triggers=(b"INTERPROCEDURAL_OPTIMIZATION",))

_TRUE = ("ON", "TRUE", "1", "YES")


def check(file: cmake.CMakeFile) -> Iterator[Finding]:
    """Each switch, for all targets or for one."""
    for command in cmake.open_commands(file, "set", "set_target_properties", "set_property"):
        words = list(command.words())
        name = next(
            (word for word in words if word in ("CMAKE_INTERPROCEDURAL_OPTIMIZATION", "INTERPROCEDURAL_OPTIMIZATION")),
            None,
        )
        if name is None or cmake.has_addition(file, command):
            continue
        position = words.index(name) + 1
        if position >= len(words) or words[position].upper() not in _TRUE:
            continue
        words[position] = "OFF"
        message = "interprocedural optimisation: a HIP link then leaves bitcode in the library"
        yield cmake.finding(
            RULE, file, command, message, cmake.added(file, command, f"{command.name}({cmake.quoted(words)})")
        )
