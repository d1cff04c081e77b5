"""From a code object to a shared library of translated kernels.

`python -m kernel_pytorch.emulate.translate CODE_OBJECT OUT_SO [FLAGS [KERNEL]]` does it for a file; FLAGS is a comma
list of `checked` and `counted`, or `plain`; KERNEL is the symbol of the only kernel to translate.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernel_pytorch.core.cache_folder import default_cache
from kernel_pytorch.core.children import ended_by_signals
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.whole_file import whole_file, write_whole
from kernel_pytorch.emulate.assembly.compiler_text import read_compiler_text
from kernel_pytorch.emulate.assembly.disassembly import disassembly
from kernel_pytorch.emulate.assembly.instruction import AssemblyError, Function, HardwareRegister, Instruction, Listing
from kernel_pytorch.emulate.assembly.objdump_text import read_objdump_text
from kernel_pytorch.emulate.assembly.one_kernel import one_kernel
from kernel_pytorch.emulate.codegen.emission import KernelShape, TranslationError
from kernel_pytorch.emulate.codegen.flow import lay_out, reachable
from kernel_pytorch.emulate.codegen.kernel import kernel_code
from kernel_pytorch.emulate.codegen.module import NATIVE, CFile, TranslatedKernel, module_files
from kernel_pytorch.emulate.codegen.symbols import Symbols
from kernel_pytorch.emulate.host_compiler import (
    HostCompiler,
    build_shared_library,
    find_host_compiler,
    host_identity,
)
from kernel_pytorch.emulate.isa.table import family
from kernel_pytorch.emulate.outside import step_outside
from kernel_pytorch.toolchain.code_object import CodeObject, KernelResources, read_code_object
from kernel_pytorch.toolchain.elf import ElfFile

FLAGS = ("checked", "counted")
# Of the runtime: they ask nothing of the code.
_RUNTIME_FLAGS = ("races", "shuffle-blocks", "unwritten", "whole-pages", "quiet-faults")
_SECTION_RELOCATIONS = 4


@dataclass(frozen=True)
class Translation:
    """The C of a code object."""

    target: str
    files: tuple[CFile, ...]
    kernels: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]  # kernel, why; only where the caller lets single kernels fail


def build_flags(text: str) -> frozenset[str]:
    """The flags that change translated code, out of a comma list."""
    found = {part for part in re.split(r",|-(?=counted)", text) if part and part != "plain"}
    unknown = found - set(FLAGS) - set(_RUNTIME_FLAGS)
    if unknown:
        raise UsageError(f"unknown flag {sorted(unknown)[0]!r}: expected {', '.join((*FLAGS, *_RUNTIME_FLAGS))}")
    if "races" in found or "unwritten" in found:
        found.add("checked")
    return frozenset(found & set(FLAGS))


@cache
def table_version() -> str:
    """A hash of everything that decides what translated code looks like: the package's Python and C files."""
    digest = hashlib.sha256()
    here = Path(__file__).resolve().parent
    files = [*here.glob("isa/*.py"), *here.glob("codegen/*.py"), *here.glob("assembly/*.py"), *here.glob("native/*.h")]
    for path in sorted([*files, here / "translate.py", here / "host_compiler.py"]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def module_name(code_object: bytes, target: str, flags: frozenset[str] = frozenset()) -> str:
    """The file name of a translated module in the cache."""
    suffix = "-".join(sorted(flags)) or "plain"
    return f"{hashlib.sha256(code_object).hexdigest()}-{target}-{suffix}.so"


def translate_to_c(
    code_object: bytes,
    assembly: str | None = None,
    flags: frozenset[str] = frozenset(),
    strict: bool = True,
    only: str | None = None,
) -> Translation:
    """The C of every kernel of a code object, or of `only` one of them.

    `assembly` is the compiler's text of the same module; without it the code object is disassembled. With `strict`
    the first kernel that cannot be translated raises TranslationError; otherwise such kernels are left out.
    """
    described = read_code_object(code_object)
    elf = ElfFile(code_object)
    listing = _listing(code_object, assembly, elf, described, only)
    return _Translator(described, elf, listing, assembly is None, flags).run(strict, only)


def translate(
    code_object: bytes,
    destination: Path,
    assembly: str | None = None,
    flags: frozenset[str] = frozenset(),
    compiler: HostCompiler | None = None,
    keep_c: Path | None = None,
    strict: bool = True,
    only: str | None = None,
) -> Translation:
    """Translate and build `destination`. It appears whole or not at all."""
    found = translate_to_c(code_object, assembly, flags, strict, only)
    compiler = compiler or find_host_compiler()
    defines = [name for flag, name in (("checked", "KPT_CHECK"), ("counted", "KPT_COUNT")) if flag in flags]
    destination.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kpt-translate-") as scratch:
        directory = keep_c or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        sources = []
        for file in found.files:
            path = directory / file.name
            path.write_text(file.text)
            sources.append((path, file.optimization))
        with whole_file(destination) as built:
            build_shared_library(compiler, sources, NATIVE, built, defines, os.cpu_count() or 1)
    return found


def module_cache() -> Path:
    """The directory of translated modules: one for each version of the table and kind of CPU, so none is stale."""
    return default_cache() / f"modules-{table_version()}-{host_identity()}"


def translate_module(code_object: bytes, assembly: str | None, build: str = "plain", cache: Path | None = None) -> Path:
    """The translated module of a code object in the cache, built if it is not there.

    `build` is "plain", "checked", "counted" or "checked-counted". Two processes may do this at once: each builds, the
    last rename wins, both are whole.
    """
    flags = build_flags(build)
    store = cache or module_cache()
    path = store / module_name(code_object, read_code_object(code_object).target, flags)
    if path.is_file():
        return path
    if assembly is None:
        kept = store / f"{hashlib.sha256(code_object).hexdigest()}.s"
        assembly = kept.read_text() if kept.is_file() else None
    else:
        keep_assembly(code_object, assembly, store)
    translate(code_object, path, assembly, flags)
    return path


def keep_assembly(code_object: bytes, assembly: str, cache: Path) -> None:
    """Store the compiler's text of a code object, so that it can be translated later without a disassembler."""
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / f"{hashlib.sha256(code_object).hexdigest()}.s"
    write_whole(path, assembly)


def _listing(
    code_object: bytes, assembly: str | None, elf: ElfFile, described: CodeObject, only: str | None
) -> Listing:
    kernels = {kernel.symbol for kernel in described.kernels}
    if only is not None and only not in kernels:
        raise TranslationError(f"{only}: no kernel of this code object")
    if assembly is not None:
        return read_compiler_text(assembly)
    if only is not None:
        return one_kernel(code_object, elf, described.target, only, kernels)
    sizes = {symbol.name: symbol.size for symbol in elf.symbols()}
    symbols = {symbol.name: symbol.value for symbol in elf.symbols() if symbol.section}
    return read_objdump_text(disassembly(code_object, described.target), sizes, symbols)


class _Translator:
    def __init__(
        self, described: CodeObject, elf: ElfFile, listing: Listing, has_addresses: bool, flags: frozenset[str]
    ) -> None:
        self.described = described
        self.elf = elf
        self.listing = listing
        self.has_addresses = has_addresses
        self.flags = flags
        self.generation = int(family(described.target)[3:])
        addresses = {symbol.name: symbol.value for symbol in elf.symbols() if symbol.section}
        self.symbols = Symbols(addresses, listing.data)
        self.kernels = {kernel.symbol for kernel in described.kernels}
        self.data_functions = self._data_functions(addresses)

    def run(self, strict: bool, only: str | None) -> Translation:
        made: list[TranslatedKernel] = []
        refused: list[tuple[str, str]] = []
        wanted = [kernel for kernel in self.described.kernels if only in (None, kernel.symbol)]
        for number, kernel in enumerate(wanted):
            try:
                made.append(self._kernel(number, kernel))
            except (TranslationError, AssemblyError) as error:
                if strict:
                    raise
                refused.append((kernel.symbol, str(error)))
        build = ("checked" in self.flags) * 1 + ("counted" in self.flags) * 2
        data = list(self.symbols.declarations.values())
        files = module_files(
            self.described.target, self.generation, made, build, data, " ".join(self.symbols.attach.values()),
            self.symbols.extern_declarations(),
        )  # fmt: skip
        return Translation(self.described.target, files, tuple(k.resources.symbol for k in made), tuple(refused))

    def _kernel(self, number: int, kernel: KernelResources) -> TranslatedKernel:
        function = self.listing.functions.get(kernel.symbol)
        if function is None:
            raise TranslationError(f"{kernel.symbol}: its instructions are not in the assembly")
        functions = reachable(function, self.listing.functions, self.kernels, self.data_functions)
        flow = lay_out(functions, {one.name: self._address(one) for one in functions})
        rsrc = _descriptor_words(self.elf, kernel.symbol)
        mode = rsrc[0] >> 12 & 0xFF
        changes = any(_changes_mode(one) for one in flow.instructions)
        shape = KernelShape(
            target=self.described.target,
            generation=self.generation,
            wave=kernel.wave_size,
            checked="checked" in self.flags,
            counted="counted" in self.flags,
            flush_f32=(mode >> 4 & 3) != 3,
            flush_f16_f64=(mode >> 6 & 3) != 3,
            mode_changes=changes,
            has_addresses=self.has_addresses,
        )
        code = kernel_code(f"kpt_kernel_{number}", kernel.symbol, flow, shape, self.symbols.value)
        return TranslatedKernel(kernel, code, kernel.wave_size, rsrc)

    def _address(self, function: Function) -> int:
        if function.address is not None:
            return function.address
        found = self.symbols.addresses.get(function.name)
        if found is None:
            raise TranslationError(f"{function.name}: the code object has no symbol for this function")
        return found

    def _data_functions(self, addresses: Mapping[str, int]) -> set[str]:
        """Functions whose address lies in memory: something may call them through a pointer."""
        by_address = {addresses[name]: name for name in self.listing.functions if name in addresses}
        found: set[str] = set()
        for section in self.elf.sections:
            if section.kind != _SECTION_RELOCATIONS:
                continue
            content = self.elf.content(section)
            for at in range(0, len(content) - 23, 24):
                addend = struct.unpack_from("<q", content, at + 16)[0]
                if addend in by_address:
                    found.add(by_address[addend])
        return found - self.kernels


def _changes_mode(instruction: Instruction) -> bool:
    """Whether an instruction may change rounding or denormals: bits 0 to 7 of MODE."""
    if instruction.mnemonic in ("s_round_mode", "s_denorm_mode"):
        return True
    register = instruction.operands[0] if instruction.operands else None
    is_mode = isinstance(register, HardwareRegister) and register.name.endswith("MODE") and register.offset < 8
    return instruction.mnemonic.startswith("s_setreg") and is_mode


def _descriptor_words(elf: ElfFile, symbol: str) -> tuple[int, int, int, int, int]:
    for one in elf.symbols():
        if one.name == f"{symbol}.kd":
            rsrc3, rsrc1, rsrc2, properties, preload = struct.unpack_from("<IIIHH", elf.bytes_of(one, 64), 44)
            return rsrc1, rsrc2, rsrc3, properties, preload
    raise TranslationError(f"{symbol}: the code object has no kernel descriptor for it")


def main(arguments: list[str]) -> int:
    """The command line. The message of a failure goes to stderr; exit status 2."""
    if len(arguments) not in (2, 3, 4):
        print("usage: python -m kernel_pytorch.emulate.translate CODE_OBJECT OUT_SO [FLAGS [KERNEL]]", file=sys.stderr)
        return 2
    step_outside()
    source, destination = Path(arguments[0]), Path(arguments[1])
    try:
        payload = source.read_bytes()
        flags = build_flags(arguments[2] if len(arguments) > 2 else "")
        kept = destination.parent / f"{hashlib.sha256(payload).hexdigest()}.s"
        assembly = kept.read_text() if kept.is_file() else None
        translate(payload, destination, assembly, flags, only=arguments[3] if len(arguments) > 3 else None)
    except (OSError, ValueError, RuntimeError) as error:
        print(f"kpt: {source}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    with ended_by_signals():
        sys.exit(main(sys.argv[1:]))
