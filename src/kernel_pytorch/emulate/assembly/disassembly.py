"""A code object's instructions through llvm-objdump, with symbols as the linker knows them and source lines."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.process import run_child
from kernel_pytorch.toolchain.disassemble import find_objdump


def disassembly(
    code_object: bytes, target: str, functions: Sequence[str] = (), between: tuple[int, int | None] | None = None
) -> str:
    """llvm-objdump's text: of everything, of these functions, or of the code between two addresses.

    Raises DisassemblerNotFoundError where no llvm-objdump knows the target.
    """
    command = [str(find_objdump(target)), "--line-numbers"]
    with tempfile.TemporaryDirectory(prefix="kpt-objdump-") as directory:
        path = Path(directory) / f"{target}.hsaco"
        path.write_bytes(code_object)
        if functions:
            # In a file: a library's names together are longer than a command line may be.
            words = Path(directory) / "words"
            words.write_text("--disassemble-symbols=" + ",".join(functions))
            command.append(f"@{words}")
        else:
            command.append("--disassemble")
        if between is not None:
            start, stop = between
            command += [f"--start-address={start:#x}", *([f"--stop-address={stop:#x}"] if stop is not None else [])]
        done = run_child([*command, str(path)])
    if done.returncode != 0:
        raise UsageError(f"{command[0]} could not disassemble the {target} code object: {done.stderr.strip()}")
    return done.stdout
