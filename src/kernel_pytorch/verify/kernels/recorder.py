"""Builds the recorder that is loaded into a program, and says whether a program can be recorded at all."""

from __future__ import annotations

import hashlib
import os
import struct
import tempfile
from pathlib import Path

from kernel_pytorch.core.cache_folder import default_cache
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.process import run_child
from kernel_pytorch.emulate.host_compiler import find_host_compiler
from kernel_pytorch.toolchain.elf import ElfError, ElfFile

SOURCES = Path(__file__).parent / "data"
FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread")
_NEEDED = 1  # DT_NEEDED


def recorder_library(cache: Path | None = None) -> Path:
    """The shared library, built with this machine's C compiler when it is not there. Raises UsageError."""
    compiler = find_host_compiler()
    files = sorted(SOURCES.glob("*.[ch]"))
    digest = hashlib.sha256("\0".join([*compiler.command, compiler.version, *FLAGS]).encode())
    for file in files:
        digest.update(file.read_bytes())
    target = (cache or default_cache()) / f"recorder-{digest.hexdigest()[:16]}.so"
    if target.exists():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="kpt-recorder-", dir=target.parent) as scratch:
            made = Path(scratch) / target.name
            sources = [str(file) for file in files if file.suffix == ".c"]
            command = [*compiler.command, *FLAGS, "-o", str(made), *sources, "-ldl"]
            done = run_child(command)
            if done.returncode != 0:
                raise UsageError(f"{compiler.command[0]} refused the recorder:\n{done.stderr.strip()[:2000]}")
            made.replace(target)
    except OSError as error:
        place = error.filename or target
        raise UsageError(f"{place}: {error.strerror}; KPT_CACHE_DIR names another folder to keep builds in") from error
    return target


def gpu_runtime(executable: Path) -> str:
    """`cuda`, `hip`, or empty where that shows only when it runs. Raises UsageError for what cannot be recorded."""
    if not executable.is_file() or not os.access(executable, os.X_OK):
        raise UsageError(f"{executable}: not an executable file")
    data = executable.read_bytes()
    try:
        elf = ElfFile(data)
        needed = needed_libraries(elf)
        sections = {section.name for section in elf.sections}
    except ElfError:
        return ""  # a script: what it starts is looked at by the loader
    if any(name.startswith("libamdhip64.so") for name in needed):
        return "hip"
    if any(name.startswith(("libcudart.so", "libcuda.so")) for name in needed):
        return "cuda"
    if ".nv_fatbin" in sections or b"libcudart_static" in data:
        raise UsageError(
            f"{executable}: its CUDA runtime is linked in (nvcc's default), where no recorder can stand before it: "
            "link it again with `nvcc -cudart shared` (CMake: CUDA_RUNTIME_LIBRARY Shared)"
        )
    return ""


def needed_libraries(elf: ElfFile) -> tuple[str, ...]:
    """The libraries that an executable says it needs."""
    dynamic, strings = elf.section(".dynamic"), elf.section(".dynstr")
    if dynamic is None or strings is None:
        return ()
    rows, names = elf.content(dynamic), elf.content(strings)
    found = []
    for at in range(0, len(rows) - 15, 16):
        tag, value = struct.unpack_from("<qQ", rows, at)
        if tag == _NEEDED and value < len(names):
            found.append(names[value : names.find(b"\0", value)].decode("utf-8", "replace"))
    return tuple(found)
