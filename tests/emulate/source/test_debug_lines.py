"""Our reading of .debug_line against binutils' own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_pytorch.emulate.source.build import SourceProgram
from kernel_pytorch.emulate.source.debug_lines import lines_of
from kernel_pytorch.toolchain.elf import ElfFile

SOURCE = Path(__file__).with_name("programs") / "faults.cu"


@pytest.mark.skipif(shutil.which("addr2line") is None, reason="needs binutils' addr2line")
def test_lines_are_those_of_addr2line(built: Callable[[str], SourceProgram]) -> None:
    program = built("faults.cu")
    elf = ElfFile(program.executable.read_bytes())
    text = elf.section(".text")
    assert text is not None
    base = min(segment.address for segment in elf.segments if segment.kind == 1)
    symbols = [symbol for symbol in elf.symbols() if "missing_syncwarp" in symbol.name and symbol.size > 100]
    addresses = [at for symbol in symbols for at in range(symbol.value, symbol.value + symbol.size)]
    assert len(addresses) > 200
    command = ["addr2line", "-e", str(program.executable), *map(hex, addresses)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    theirs = {address: line.split(" ")[0] for address, line in zip(addresses, said, strict=False)}
    ours = lines_of(program.executable, [address - base for address in addresses], program.user_files)
    compared = 0
    for address, theirs_line in theirs.items():
        if theirs_line.startswith(str(SOURCE)):
            line = ours[address - base]
            assert f"{line.path}:{line.line}" == theirs_line
            compared += 1
    assert compared > 100


def test_nothing_is_asked_of_nothing(built: Callable[[str], SourceProgram]) -> None:
    program = built("faults.cu")
    assert lines_of(program.executable, [], program.user_files) == {}
    assert lines_of(program.executable, [0], program.user_files) == {}
