"""A code object's instructions through llvm-objdump, with symbols as the linker knows them and source lines."""

from __future__ import annotations

import tempfile
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.process import run_child
from kernel_pytorch.toolchain.disassemble import find_objdump


def disassembly(code_object: bytes, target: str) -> str:
    """llvm-objdump's text. Raises DisassemblerNotFoundError where no llvm-objdump knows the target."""
    command = [str(find_objdump(target)), "--disassemble", "--line-numbers"]
    with tempfile.TemporaryDirectory(prefix="kpt-objdump-") as directory:
        path = Path(directory) / f"{target}.hsaco"
        path.write_bytes(code_object)
        done = run_child([*command, str(path)])
    if done.returncode != 0:
        raise UsageError(f"{command[0]} could not disassemble the {target} code object: {done.stderr.strip()}")
    return done.stdout
