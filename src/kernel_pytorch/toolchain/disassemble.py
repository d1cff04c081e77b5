"""Machine code of a code object as text: by our own decoder, or through an llvm-objdump for targets it lacks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.process import run_child
from kernel_pytorch.toolchain.code_object import read_code_object
from kernel_pytorch.toolchain.demangle import demangle
from kernel_pytorch.toolchain.elf import ElfFile
from kernel_pytorch.toolchain.machine_code.decode import decode, is_known
from kernel_pytorch.toolchain.machine_code.operands import EncodingError
from kernel_pytorch.toolchain.roots import rocm_roots, unpacked_root

OLDEST_LLVM = 18
_NEWEST_LLVM = 23


class DisassemblerNotFoundError(UsageError):
    """No llvm-objdump here can disassemble that target."""


def disassemble(code_object: bytes, kernel: str | None = None) -> str:
    """The instructions of a code object with addresses and encodings; of one kernel (by symbol) if asked.

    Raises CodeObjectError for what is not a code object, UsageError for code that is not known, and
    DisassemblerNotFoundError for a target that our decoder lacks where no fitting llvm-objdump is here.
    """
    target = read_code_object(code_object).target
    if is_known(target):
        try:
            return "".join(_decoded(ElfFile(code_object), target, kernel))
        except EncodingError as error:
            raise UsageError(str(error)) from error
    command = [str(find_objdump(target)), "--disassemble", "--demangle"]
    if kernel is not None:
        command.append(f"--disassemble-symbols={kernel}")
    with tempfile.TemporaryDirectory(prefix="kpt-objdump-") as directory:
        path = Path(directory) / f"{target}.hsaco"
        path.write_bytes(code_object)
        done = run_child([*command, path.name], cwd=directory)
    if done.returncode != 0:
        raise UsageError(f"{command[0]} could not disassemble the {target} code object: {done.stderr.strip()}")
    return done.stdout


def _decoded(elf: ElfFile, target: str, kernel: str | None) -> Iterator[str]:
    """llvm-objdump's form, so that what reads that reads this."""
    text = elf.section(".text")
    if text is None:
        return
    index = elf.sections.index(text)
    symbols = {one.value: one for one in elf.symbols() if one.section == index and (one.size or one.name == kernel)}
    yield f"\n<{target}>:\tfile format elf64-amdgpu\n\nDisassembly of section .text:\n"
    for start, symbol in sorted(symbols.items()):
        if kernel not in (None, symbol.name):
            continue
        size = symbol.size or text.address + text.size - start
        yield f"\n{start:016x} <{demangle(symbol.name)}>:\n"
        code = elf.read(text.offset + start - text.address, size)
        for address, one in decode(code, start, target):
            at = address - start
            words = " ".join(
                f"{int.from_bytes(code[at + n : at + n + 4], 'little'):08X}" for n in range(0, one.size, 4)
            )
            to = ""
            if one.branch is not None:
                to = f" <{demangle(symbol.name)}+0x{at + one.size + one.branch:x}>"
            yield f"\t{one.text:<58} // {address:012X}: {words}{to}\n"


def find_objdump(target: str) -> Path:
    """The first llvm-objdump that knows the target: of an unpacked tree, of ROCm, on PATH."""
    looked: list[str] = []
    for path in _objdumps():
        version = _version(path)
        if version < OLDEST_LLVM:
            looked.append(f"{path} is LLVM {version or 'unknown'}")
        elif target not in _processors(path):
            looked.append(f"{path} (LLVM {version}) does not know {target}")
        else:
            return path
    seen = f" ({'; '.join(looked)})" if looked else ""
    raise DisassemblerNotFoundError(
        f"no llvm-objdump of LLVM {OLDEST_LLVM} or newer that knows {target}{seen}. The pip packages have none: "
        "install ROCm, or LLVM's tools (`apt install llvm` on Debian and Ubuntu). For a source file --asm needs no "
        "disassembler"
    )


def find_readelf() -> Path | None:
    """An llvm-readelf beside an llvm-objdump that is new enough, or None."""
    for path in _objdumps():
        beside = path.with_name(path.name.replace("objdump", "readelf"))
        if beside.is_file() and _version(path) >= OLDEST_LLVM:
            return beside
    return None


def _objdumps() -> Iterator[Path]:
    roots: list[Path] = []
    unpacked = unpacked_root()
    roots += [unpacked] if unpacked is not None else []
    roots += list(rocm_roots())
    seen: set[Path] = set()
    for root in roots:
        for place in ("llvm/bin/llvm-objdump", "lib/llvm/bin/llvm-objdump", "bin/llvm-objdump"):
            path = root / place
            if path.is_file() and path not in seen:
                seen.add(path)
                yield path
    for name in ("llvm-objdump", *(f"llvm-objdump-{n}" for n in range(_NEWEST_LLVM, OLDEST_LLVM - 1, -1))):
        found = shutil.which(name)
        if found and Path(found) not in seen:
            yield Path(found)


@cache
def _version(path: Path) -> int:
    match = re.search(r"LLVM version (\d+)", _output(path, "--version"))
    return int(match[1]) if match else 0


@cache
def _processors(path: Path) -> frozenset[str]:
    output = _output(path, "--triple=amdgcn-amd-amdhsa", "--mcpu=help", "--disassemble", os.devnull)
    return frozenset(re.findall(r"^\s+(gfx[0-9a-z-]+)\s+- Select", output, re.MULTILINE))


def _output(path: Path, *arguments: str) -> str:
    try:
        done = run_child([str(path), *arguments], timeout_s=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr
