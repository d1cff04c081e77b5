"""The flags of a compiler call: where headers and device libraries come from, and what the caller adds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.core.hardware import target
from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.toolchain.roots import FALLBACK_INCLUDE, LIBRARIES_INCLUDE

if TYPE_CHECKING:
    from kernel_pytorch.toolchain.compile import CompileOptions


def library_flags(toolchain: Toolchain) -> list[str]:
    """Where device libraries come from: ours are named one by one, others the driver finds."""
    if toolchain.device_libs:
        return ["-nogpulib"]
    return [f"--rocm-device-lib-path={toolchain.device_lib_dir}"] if toolchain.device_lib_dir is not None else []


def common_flags(toolchain: Toolchain, options: CompileOptions, target_name: str) -> list[str]:
    """What both passes get: the language and target, the folders in their order, macros, and the caller's own flags."""
    command = [*toolchain.compiler, "-x", "hip", f"--offload-arch={target_name}", f"-std={options.std}"]
    command += ["-fno-color-diagnostics", "-Wno-unused-command-line-argument"]
    if toolchain.rocm_path is not None:
        command.append(f"--rocm-path={toolchain.rocm_path}")
    else:
        command.append("-nogpuinc")
    # The caller's directories come first: a project's own header wins over one of ours of the same name.
    for directory in options.include_dirs:
        command += ["-I", str(directory)]
    for directory in toolchain.include_dirs:
        if directory != Path("/usr/include"):
            command += ["-isystem", str(directory)]
    # After ours: the wrapper's <complex> stands in front of the C++ library's.
    command += toolchain.host_flags
    command += ["-idirafter", str(FALLBACK_INCLUDE), "-idirafter", str(LIBRARIES_INCLUDE)]
    if toolchain.kind != "rocm" and target(target_name).version[0] == 11:
        command += ["-include", str(FALLBACK_INCLUDE / "kpt_gfx11_trap.h")]
    if toolchain.wrapper is not None:
        command += ["-include", toolchain.wrapper]
    command.append("-D__HIP_PLATFORM_AMD__=1")
    command += [f"-D{define}" for define in options.defines]
    return [*command, *options.extra]
