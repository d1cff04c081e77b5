"""Line tables of DWARF 5, as clang writes them, and of DWARF 4."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernel_pytorch.toolchain.elf import ElfFile
from kernel_pytorch.toolchain.line_table import line_sequences

SOURCE = "int first(int x) {\n  return x + 1;\n}\n\nint second(int x) {\n  return first(x) * 3;\n}\n"


@pytest.mark.parametrize("version", [4, 5])
def test_lines_of_functions(tmp_path: Path, version: int) -> None:
    (tmp_path / "some.c").write_text(SOURCE)
    zig = [sys.executable, "-m", "ziglang"]
    options = ["--target=x86_64-linux-gnu", "-c", "-fPIC", "-O0", f"-gdwarf-{version}"]
    for command in (["clang", *options, "some.c", "-o", "some.o"], ["ld.lld", "-shared", "some.o", "-o", "some.so"]):
        subprocess.run([*zig, *command], cwd=tmp_path, check=True, capture_output=True)
    elf = ElfFile((tmp_path / "some.so").read_bytes())
    starts = {symbol.value: symbol.name for symbol in elf.symbols() if symbol.name in ("first", "second")}
    found = {}
    for sequence in line_sequences(elf):
        for address, path, line in sequence:
            if address in starts:
                found.setdefault(starts[address], (Path(path).name, line))
    assert found == {"first": ("some.c", 1), "second": ("some.c", 5)}
