"""The machine code of one kernel of a code object, by itself.

A library has thousands of kernels in one code object, and a program launches a few of them.
"""

from __future__ import annotations

from collections.abc import Collection

from kernel_pytorch.emulate.assembly.disassembly import disassembly
from kernel_pytorch.emulate.assembly.instruction import Listing
from kernel_pytorch.emulate.assembly.objdump_text import read_objdump_text
from kernel_pytorch.toolchain.elf import ElfFile, Symbol


def one_kernel(code_object: bytes, elf: ElfFile, target: str, kernel: str, kernels: Collection[str]) -> Listing:
    """The kernel, and the functions that it may call. `kernels` are the symbols of all kernels."""
    text = {index for index, section in enumerate(elf.sections) if section.name == ".text"}
    inside = [symbol for symbol in elf.symbols() if symbol.section in text]
    sizes = {symbol.name: symbol.size for symbol in elf.symbols()}
    symbols = {symbol.name: symbol.value for symbol in elf.symbols() if symbol.section}
    if all(symbol.size for symbol in inside):
        wanted = [kernel, *(symbol.name for symbol in inside if symbol.name not in kernels)]
        return read_objdump_text(disassembly(code_object, target, wanted), sizes, symbols)
    start, stop = code_range(inside, kernel, kernels)
    shown = disassembly(code_object, target, between=(start, stop))
    return read_objdump_text(shown, sizes, symbols, {start: kernel})


def code_range(inside: Collection[Symbol], kernel: str, kernels: Collection[str]) -> tuple[int, int | None]:
    """Where a kernel begins and ends. Hand-written assembly leaves sizes out and has many labels, some at the very
    address of a kernel: only a kernel, or a symbol with a size, ends the one before it."""
    (start,) = {symbol.value for symbol in inside if symbol.name == kernel}
    begins = sorted({symbol.value for symbol in inside if symbol.size or symbol.name in kernels})
    return start, next((one for one in begins if one > start), None)
