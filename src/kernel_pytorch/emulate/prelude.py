"""What the C of every translated kernel begins with, precompiled.

Reading our headers and the compiler's own below them takes a quarter of the time that a small kernel takes to compile.
gcc reads them back from a precompiled file. It checks by itself that the file fits the compiler and its flags, and
reads the header's text where it does not, so what is compiled never depends on it. Other compilers refuse to go on
where such a file does not fit: for them there is none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from subprocess import SubprocessError

from kernel_pytorch.core.process import run_child
from kernel_pytorch.core.whole_file import whole_file, write_whole
from kernel_pytorch.emulate.codegen.module import NATIVE, CFile
from kernel_pytorch.emulate.host_compiler import HostCompiler

_TIMEOUT_S = 300.0


def with_prelude(file: CFile, compiler: HostCompiler, defines: Sequence[str], folder: Path) -> str:
    """The text of a C file, whose prelude is read from a precompiled file in `folder` where that can be.

    One is made when a prelude is wanted for the second time: it costs as much as a kernel.
    """
    if compiler.kind != "gcc" or not file.prelude or "-g" in file.optimization:
        return file.whole
    words = [*compiler.command, *compiler.flags(file.optimization), *(f"-D{one}" for one in defines), "-I", str(NATIVE)]
    identity = "\0".join((compiler.version, *words, file.prelude))
    header = folder / f"prelude-{hashlib.sha256(identity.encode()).hexdigest()[:24]}.h"
    made = header.with_name(f"{header.name}.gch")
    if not header.is_file():
        write_whole(header, file.prelude)
        return file.whole
    if not made.is_file() and not _make([*words, "-x", "c-header", str(header)], made):
        return file.whole
    return f'#include "{header}"\n{file.text}'


def _make(command: list[str], made: Path) -> bool:
    try:
        with whole_file(made) as part:
            run_child([*command, "-o", str(part)], timeout_s=_TIMEOUT_S).check_returncode()
    except (OSError, SubprocessError):
        return False
    return True
