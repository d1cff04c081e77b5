"""From a code object to a shared library of translated kernels.

`python -m kernel_pytorch.emulate.translate CODE_OBJECT OUT_SO [FLAGS [KERNEL]]` does it for a file; FLAGS is a comma
list of `checked`, `counted`, `debug`, `quick` and `waits`, or `plain`; KERNEL is the symbol of the only kernel to
translate.
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

from kernel_pytorch.core import hardware
from kernel_pytorch.core.cache_folder import default_cache
from kernel_pytorch.core.children import ended_by_signals
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.whole_file import whole_file
from kernel_pytorch.emulate.assembly.compiler_text import read_compiler_text
from kernel_pytorch.emulate.assembly.instruction import AssemblyError, Function, HardwareRegister, Instruction, Listing
from kernel_pytorch.emulate.assembly.one_kernel import code_listing
from kernel_pytorch.emulate.codegen.emission import KernelShape, TranslationError
from kernel_pytorch.emulate.codegen.flow import lay_out, reachable
from kernel_pytorch.emulate.codegen.kernel import kernel_code
from kernel_pytorch.emulate.codegen.module import NATIVE, CFile, Remark, TranslatedKernel, module_files
from kernel_pytorch.emulate.codegen.symbols import Symbols
from kernel_pytorch.emulate.host_compiler import (
    HostCompiler,
    build_shared_library,
    find_host_compiler,
    host_identity,
)
from kernel_pytorch.emulate.isa.table import family
from kernel_pytorch.emulate.kept_assembly import keep_assembly, kept_assembly
from kernel_pytorch.emulate.outside import step_outside
from kernel_pytorch.emulate.prelude import with_prelude
from kernel_pytorch.emulate.waits.lds_loads import loads_lds, wait_notes
from kernel_pytorch.emulate.waits.remarks import missing_wait_remarks
from kernel_pytorch.toolchain.code_object import (
    CodeObject,
    KernelResources,
    kernel_symbols,
    read_code_object,
    read_kernel,
)
from kernel_pytorch.toolchain.elf import ElfFile

FLAGS = ("checked", "counted", "debug", "quick", "waits")
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
    missing_waits: tuple[tuple[str, Remark], ...] = ()  # kernel, what; with the flag `waits`


def build_flags(text: str) -> frozenset[str]:
    """The flags that change translated code, out of a comma list."""
    found = {part for part in re.split(r",|-(?=counted|debug|quick|waits)", text) if part and part != "plain"}
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
    folders = ("isa/*.py", "codegen/*.py", "assembly/*.py", "waits/*.py", "native/*.h")
    files = [path for folder in folders for path in here.glob(folder)]
    decoder = here.parent / "toolchain" / "machine_code"
    files += [*decoder.glob("*.py"), *decoder.glob("data/*.csv")]
    for path in sorted([*files, *(here / name for name in ("translate.py", "host_compiler.py", "prelude.py"))]):
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

    `assembly` is the compiler's text of the same module; without it the machine code is decoded. With `strict`
    the first kernel that cannot be translated raises TranslationError; otherwise such kernels are left out.
    """
    if only is None:
        described = read_code_object(code_object)
        elf = ElfFile(code_object)
        kernels = {kernel.symbol for kernel in described.kernels}
    else:
        elf = ElfFile(code_object)
        described = read_kernel(elf, only)
        kernels = kernel_symbols(elf)
        if not described.kernels:
            raise TranslationError(f"{only}: no kernel of this code object")
    if assembly is not None:
        listing = read_compiler_text(assembly)
    else:
        listing = code_listing(code_object, elf, described.target, kernels, only)
    return _Translator(described, elf, listing, kernels, assembly is None, flags).run(strict)


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
            path.write_text(with_prelude(file, compiler, defines, destination.parent))
            sources.append((path, file.optimization))
        with whole_file(destination) as built:
            build_shared_library(compiler, sources, NATIVE, built, defines, os.cpu_count() or 1)
    return found


def module_cache() -> Path:
    """The directory of translated modules: one for each version of the table and kind of CPU, so none is stale."""
    return default_cache() / f"modules-{table_version()}-{host_identity()}"


def translate_module(code_object: bytes, assembly: str | None, build: str = "plain", cache: Path | None = None) -> Path:
    """The translated module of a code object in the cache, built if it is not there.

    `build` is "plain" or some of FLAGS, apart by "-". Two processes may do this at once: each builds, the
    last rename wins, both are whole.
    """
    flags = build_flags(build)
    store = cache or module_cache()
    path = store / module_name(code_object, read_code_object(code_object).target, flags)
    if path.is_file():
        return path
    if assembly is None:
        kept = kept_assembly(code_object, store)
        assembly = kept.read_text() if kept.is_file() else None
    else:
        keep_assembly(code_object, assembly, store)
    translate(code_object, path, assembly, flags)
    return path


class _Translator:
    def __init__(
        self,
        described: CodeObject,
        elf: ElfFile,
        listing: Listing,
        kernels: set[str],
        has_addresses: bool,
        flags: frozenset[str],
    ) -> None:
        self.described = described
        self.elf = elf
        self.listing = listing
        self.has_addresses = has_addresses
        self.flags = flags
        self.generation = int(family(described.target)[3:])
        addresses = {symbol.name: symbol.value for symbol in elf.symbols() if symbol.section}
        self.symbols = Symbols(addresses, listing.data)
        self.kernels = kernels
        self.data_functions = self._data_functions(addresses)

    def run(self, strict: bool) -> Translation:
        made: list[TranslatedKernel] = []
        refused: list[tuple[str, str]] = []
        for number, kernel in enumerate(self.described.kernels):
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
            self.symbols.extern_declarations(), quick="quick" in self.flags,
        )  # fmt: skip
        remarks = tuple((one.resources.symbol, remark) for one in made for remark in one.missing_waits)
        symbols = tuple(one.resources.symbol for one in made)
        return Translation(self.described.target, files, symbols, tuple(refused), remarks)

    def _kernel(self, number: int, kernel: KernelResources) -> TranslatedKernel:
        function = self.listing.functions.get(kernel.symbol)
        if function is None:
            raise TranslationError(f"{kernel.symbol}: its instructions are not in the assembly")
        functions = reachable(function, self.listing, self.kernels, self.data_functions)
        flow = lay_out(functions, {one.name: self._address(one) for one in functions})
        rsrc = _descriptor_words(self.elf, kernel.symbol)
        mode = rsrc[0] >> 12 & 0xFF
        changes = any(_changes_mode(one) for one in flow.instructions)
        follows_lds = "waits" in self.flags and loads_lds(flow, self.described.target)
        notes = wait_notes(flow, self.described.target) if follows_lds else {}
        shape = KernelShape(
            target=self.described.target,
            generation=self.generation,
            minor=hardware.target(self.described.target).version[1],
            wave=kernel.wave_size,
            checked="checked" in self.flags,
            counted="counted" in self.flags,
            flush_f32=(mode >> 4 & 3) != 3,
            flush_f16_f64=(mode >> 6 & 3) != 3,
            mode_changes=changes,
            has_addresses=self.has_addresses,
            debug="debug" in self.flags,
            follows_lds=follows_lds,
        )
        code = kernel_code(f"kpt_kernel_{number}", kernel.symbol, flow, shape, self.symbols.value, notes=notes)
        remarks = missing_wait_remarks(flow, self.described.target, kernel.wave_size) if "waits" in self.flags else ()
        return TranslatedKernel(kernel, code, kernel.wave_size, rsrc, remarks)

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
        kept = kept_assembly(payload, destination.parent)
        assembly = kept.read_text() if kept.is_file() else None
        translate(payload, destination, assembly, flags, only=arguments[3] if len(arguments) > 3 else None)
    except (OSError, ValueError, RuntimeError) as error:
        print(f"kpt: {source}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    with ended_by_signals():
        sys.exit(main(sys.argv[1:]))
