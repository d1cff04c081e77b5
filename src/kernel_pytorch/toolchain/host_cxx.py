"""C++ without kernels, checked by this machine's C++ compiler.

Torch's build on ROCm gives a .cpp to `c++`, which is g++ on most machines, and g++ takes what clang refuses: variable
arrays with an initializer, functions nested in functions. So a source that clang refuses is no fault of a port if the
compiler that will get it takes it.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

from kernel_pytorch.core.process import run_child
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions, header_directories, run_compiler
from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.toolchain.roots import FALLBACK_INCLUDE, LIBRARIES_INCLUDE


def host_cxx_takes(source: Path, toolchain: Toolchain, options: CompileOptions) -> str:
    """The name and version of the C++ compiler if it takes a source; empty where it does not, or there is none."""
    compiler = shutil.which(os.environ.get("CXX") or "c++")
    if compiler is None:
        return ""
    command = [compiler, "-x", "c++", f"-std={options.std}", "-w", "-fsyntax-only"]
    for folder in options.include_dirs:
        command += ["-I", str(folder)]
    for folder in toolchain.include_dirs:
        if folder != Path("/usr/include"):
            command += ["-idirafter", str(folder)]
    command += ["-idirafter", str(FALLBACK_INCLUDE), "-idirafter", str(LIBRARIES_INCLUDE)]
    command += ["-D__HIP_PLATFORM_AMD__=1", *(f"-D{define}" for define in options.defines), *options.extra]
    bounds = (*options.bounds, *map(Path, header_directories(toolchain)), FALLBACK_INCLUDE) if options.bounds else ()
    try:
        run_compiler([*command, str(source)], options.timeout_s, None, (), bounds)
    except CompileFailed:
        return ""
    return _version(compiler)


@functools.cache
def _version(compiler: str) -> str:
    try:
        said = run_child([compiler, "--version"], timeout_s=60.0).stdout
    except (OSError, subprocess.TimeoutExpired):
        return compiler
    return (said.splitlines() or [compiler])[0]
