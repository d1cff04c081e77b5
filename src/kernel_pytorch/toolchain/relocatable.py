"""Programs whose device code is linked across translation units (-fgpu-rdc).

As the vendor's driver does it: every unit becomes LLVM bitcode, the linker optimises and lowers all of them as one, and
the host objects find the one code object through symbols that are made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from kernel_pytorch.toolchain.compile import CompileOptions, compile_device, compile_host, unit_id
from kernel_pytorch.toolchain.elf import ElfFile
from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.toolchain.stages import link_bitcode, to_bitcode


def whole_program_assembly(
    sources: Sequence[Path], target: str, toolchain: Toolchain, options: CompileOptions, jobs: int = 2
) -> str:
    """The device side of all sources as one assembly text. Raises CompileFailed."""

    def bitcode(source: Path) -> bytes:
        text = compile_device(source, target, toolchain, options, "llvm-ir")
        return to_bitcode(text, toolchain, options.timeout_s)

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        units = list(pool.map(bitcode, sources))
    return link_bitcode(units, target, toolchain, options)


def relocatable_host_object(source: Path, target: str, toolchain: Toolchain, options: CompileOptions) -> bytes:
    """The host side of one unit; it names its device code and its registration by symbols for `registration_source`."""
    named = replace(options, extra=(*options.extra, unit_id(source.read_bytes())))
    return compile_host(source, toolchain, named, target)


def registration_source(objects: Sequence[bytes], fat_binary: Path) -> str:
    """Assembly text that defines what the host objects look for: all share one code object and one registration."""
    wanted = sorted({symbol.name for content in objects for symbol in ElfFile(content).symbols() if not symbol.section})
    lines: list[str] = []
    places = (("__hip_fatbin_", '.hip_fatbin,"a",@progbits', 12), ("__hip_gpubin_handle_", ".data", 3))
    for prefix, section, alignment in places:
        lines += [f".section {section}" if section.startswith(".hip") else section, f".p2align {alignment}"]
        for name in wanted:
            if name.startswith(prefix):
                lines += [f".globl {name}", f".hidden {name}", f"{name}:"]
        lines.append(f'.incbin "{fat_binary}"' if "fatbin_" in prefix else ".quad 0")
    return "\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""])
