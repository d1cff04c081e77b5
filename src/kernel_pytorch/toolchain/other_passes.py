"""Passes beside the two that compile a HIP source: device side checked only, its objects linked, plain C and C++."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.toolchain.compile import (
    CompileOptions,
    check_syntax,
    header_directories,
    link_objects,
    run_compiler,
)
from kernel_pytorch.toolchain.compiler_flags import common_flags, library_flags
from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.toolchain.roots import LIBRARIES_INCLUDE


def link_device(objects: Sequence[bytes], toolchain: Toolchain, timeout_s: float = 600.0) -> bytes:
    """One code object out of several relocatable ones (`output="object"` with -fgpu-rdc)."""
    if not objects:
        raise UsageError("nothing to link: no device objects were given")
    with tempfile.TemporaryDirectory(prefix="kpt-link-") as scratch:
        paths = []
        for index, payload in enumerate(objects):
            path = Path(scratch) / f"{index}.o"
            path.write_bytes(payload)
            paths.append(path)
        return link_objects(paths, toolchain, Path(scratch) / "linked.hsaco", timeout_s)


def check_device(source: Path, target_name: str, toolchain: Toolchain, options: CompileOptions | None = None) -> None:
    """Checks the device side of a HIP source: parsing and types, no code. Raises CompileFailed."""
    options = options or CompileOptions()
    command = [*common_flags(toolchain, options, target_name), "--cuda-device-only", *library_flags(toolchain)]
    check_syntax(source, command, toolchain, options)


def compile_plain(source: Path, toolchain: Toolchain, options: CompileOptions | None = None) -> bytes:
    """A C or C++ source as a relocatable object of this machine: HIP's functions, no kernels. Raises CompileFailed."""
    options = options or CompileOptions()
    language = ("c", "gnu11") if source.suffix.lower() == ".c" else ("c++", options.std)
    command = [*toolchain.compiler, "-x", language[0], f"-std={language[1]}", "-fno-color-diagnostics"]
    command += ["-Wno-unused-command-line-argument"]
    command += [word for directory in options.include_dirs for word in ("-I", str(directory))]
    command += [word for directory in toolchain.include_dirs for word in ("-isystem", str(directory))]
    command += [*toolchain.host_flags, "-idirafter", str(LIBRARIES_INCLUDE), "-D__HIP_PLATFORM_AMD__=1"]
    command += [*(f"-D{define}" for define in options.defines), options.optimization, "-fPIC"]
    with tempfile.TemporaryDirectory(prefix="kpt-host-") as scratch:
        destination = Path(scratch) / "host.o"
        # An absolute path: a name that begins with a dash would be an option.
        command += ["-c", "-o", str(destination), str(source.absolute())]
        run_compiler(command, options.timeout_s, None, header_directories(toolchain))
        return destination.read_bytes()
