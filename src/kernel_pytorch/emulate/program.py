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
) -> Program:
    """Compile and link `sources`; `libraries` are names such as hipblas. Raises CompileFailed, UntranslatableError."""
    link = [f"-L{runtime_directory()}", "-lamdhip64"]
    if libraries:
        link = [f"-L{library_directory(libraries)}", *(f"-l{name}" for name in libraries), *link]
    program = build_program(sources, target, toolchain, destination, options, link)
    for device in program.device:
        if ".amdhsa_kernel" in device.assembly:
            translate_module(device.code_object, device.assembly, build)
    return program
