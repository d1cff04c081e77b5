"""Builds a HIP program for the emulator: linked against our runtime, its kernels translated ahead."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernel_pytorch.emulate.kept_assembly import keep_assembly
from kernel_pytorch.emulate.libraries import library_directory
from kernel_pytorch.emulate.runtime_build import runtime_directory
from kernel_pytorch.emulate.translate import module_cache, translate_module
from kernel_pytorch.toolchain.compile import CompileOptions
from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.toolchain.program import Program, build_program

# More of them are translated when they are launched: a library of templates has hundreds, and a program runs a few.
# Each launch of a new kernel starts a process, 0.6 s of processor time; twenty small kernels in one go take 0.9 s.
_FEW_KERNELS = 8
_SHORT_ASSEMBLY = 400_000  # bytes of text, some forty small kernels


def build_emulated(
    sources: Sequence[Path],
    target: str,
    toolchain: Toolchain,
    destination: Path,
    options: CompileOptions | None = None,
    libraries: Sequence[str] = (),
    build: str = "plain",
    link: Sequence[str] = (),
) -> Program:
    """Compile and link `sources`; `libraries` are names such as hipblas, `link` further words for the host's linker.

    Raises CompileFailed, TranslationError.
    """
    options = options or CompileOptions()
    words = [f"-L{runtime_directory()}", "-lamdhip64", *link]
    if libraries:
        words = [f"-L{library_directory(libraries)}", *(f"-l{name}" for name in libraries), *words]
    program = build_program(sources, target, toolchain, destination, options, words)
    for device in program.device:
        kernels = device.assembly.count(".amdhsa_kernel ")
        if kernels > _FEW_KERNELS and len(device.assembly) > _SHORT_ASSEMBLY:
            keep_assembly(device.code_object, device.assembly, module_cache())
        elif kernels:
            translate_module(device.code_object, device.assembly, build)
    return program
