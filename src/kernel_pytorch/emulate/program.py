"""Builds a HIP program for the emulator: linked against our runtime, its kernels translated ahead."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernel_pytorch.emulate.libraries import library_directory
from kernel_pytorch.emulate.runtime_build import runtime_directory
from kernel_pytorch.emulate.translate import translate_module
from kernel_pytorch.toolchain.compile import CompileOptions
from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.toolchain.program import Program, build_program


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
    words = [f"-L{runtime_directory()}", "-lamdhip64", *link]
    if libraries:
        words = [f"-L{library_directory(libraries)}", *(f"-l{name}" for name in libraries), *words]
    program = build_program(sources, target, toolchain, destination, options, words)
    for device in program.device:
        if ".amdhsa_kernel" in device.assembly:
            translate_module(device.code_object, device.assembly, build)
    return program
