"""The machine code of a code object, or of one of its kernels by itself.

A library has thousands of kernels in one code object, and a program launches a few of them.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from kernel_pytorch.emulate.assembly.decoded import Stretch, decoded_listing
from kernel_pytorch.emulate.assembly.disassembly import disassembly
from kernel_pytorch.emulate.assembly.instruction import Listing
from kernel_pytorch.emulate.assembly.objdump_text import read_objdump_text
from kernel_pytorch.toolchain.elf import ElfFile, Symbol
from kernel_pytorch.toolchain.machine_code.decode import is_known

#: Set to 1, llvm-objdump is asked instead of our decoder: to compare the two.
OBJDUMP_VARIABLE = "KPT_USE_OBJDUMP"


def code_listing(
    code_object: bytes, elf: ElfFile, target: str, kernels: Collection[str], only: str | None = None
) -> Listing:
    """Every function, or one kernel and the functions that it may call. `kernels` are the symbols of all kernels."""
    text = {index for index, section in enumerate(elf.sections) if section.name == ".text"}
    inside = [symbol for symbol in elf.symbols() if symbol.section in text]
    if is_known(target) and os.environ.get(OBJDUMP_VARIABLE) != "1":
        return decoded_listing(elf, target, _stretches(elf, inside, kernels, only))
    sizes = {symbol.name: symbol.size for symbol in elf.symbols()}
    symbols = {symbol.name: symbol.value for symbol in elf.symbols() if symbol.section}
    if only is None:
        return read_objdump_text(disassembly(code_object, target), sizes, symbols)
    if all(symbol.size for symbol in inside):
        wanted = [only, *(symbol.name for symbol in inside if symbol.name not in kernels)]
        return read_objdump_text(disassembly(code_object, target, wanted), sizes, symbols)
    start, stop = code_range(inside, only, kernels)
    shown = disassembly(code_object, target, between=(start, stop))
    return read_objdump_text(shown, sizes, symbols, {start: only})


def _stretches(elf: ElfFile, inside: Collection[Symbol], kernels: Collection[str], only: str | None) -> list[Stretch]:
    end = max((section.address + section.size for section in elf.sections if section.name == ".text"), default=0)
    found: dict[str, Stretch] = {}
    for symbol in inside:
        # Labels of hand-written code have no size; a function of the compiler's has one.
        is_wanted = only in (None, symbol.name) if symbol.name in kernels else symbol.size > 0
        if not is_wanted or symbol.name in found:
            continue
        if symbol.size:
            found[symbol.name] = Stretch(symbol.name, symbol.value, symbol.value + symbol.size, True)
        else:
            start, stop = code_range(inside, symbol.name, kernels)
            found[symbol.name] = Stretch(symbol.name, start, stop or end, False)
    return list(found.values())


def code_range(inside: Collection[Symbol], kernel: str, kernels: Collection[str]) -> tuple[int, int | None]:
    """Where a kernel begins and ends. Hand-written assembly leaves sizes out and has many labels, some at the very
    address of a kernel: only a kernel, or a symbol with a size, ends the one before it."""
    (start,) = {symbol.value for symbol in inside if symbol.name == kernel}
    begins = sorted({symbol.value for symbol in inside if symbol.size or symbol.name in kernels})
    return start, next((one for one in begins if one > start), None)
