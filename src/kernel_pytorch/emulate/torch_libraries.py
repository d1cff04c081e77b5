"""Builds libc10_hip.so and libtorch_hip.so for a CPU torch: what a ROCm torch has for C++ extensions to link against.

They hold the functions that torch's ROCm headers declare and extensions call: streams, guards, the allocator, device
properties, handles of the math libraries, generators. All of them ask the torch device (native/torch_device), which is
loaded into the process before.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kernel_pytorch.core.build_lock import one_builder
from kernel_pytorch.core.cache_folder import default_cache
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.first_build import first_build
from kernel_pytorch.core.process import run_child
from kernel_pytorch.emulate.libraries import host_cxx, library_directory
from kernel_pytorch.emulate.runtime_build import runtime_directory
from kernel_pytorch.toolchain.torch_headers import DEFINES, InstalledTorch

NATIVE = Path(__file__).parent / "native" / "torch_extension"
# -O1: these functions do little, and torch's headers take long to optimise.
FLAGS = (
    "-O1", "-fPIC", "-fvisibility-inlines-hidden", "-w", "-pthread", "-D__HIP_PLATFORM_AMD__=1",
    "-DAT_PER_OPERATOR_HEADERS",
)  # fmt: skip
_MATH = ("hipblas", "hipblaslt", "hipsparse", "hipsolver")
LIBRARIES = {
    "c10_hip": ("c10_streams.cpp", "c10_assertions.cpp", "c10_allocator.cpp"),
    "torch_hip": ("aten_context.cpp", "aten_generator.cpp"),
}


class TorchLibraryError(UsageError):
    """torch's headers and the sources here do not go together. The message holds the compiler's words."""


def torch_library_folder(torch: InstalledTorch, cache: Path | None = None) -> Path:
    """Where the libraries for this torch are, or will be: nothing is built."""
    beside = (runtime_directory().name, library_directory(None).name)
    digest = hashlib.sha256(repr((host_cxx(), FLAGS, LIBRARIES, torch.version, str(torch.folder), beside)).encode())
    for path in sorted(NATIVE.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return (cache or default_cache()) / f"torch-libraries-{digest.hexdigest()[:16]}"


def torch_libraries(torch: InstalledTorch, headers: Path, rocm_include: Path, cache: Path | None = None) -> Path:
    """The folder with both libraries, built when they are not there. Raises TorchLibraryError."""
    folder = torch_library_folder(torch, cache)
    if not folder.is_dir():
        with one_builder(folder):
            if not folder.is_dir():
                _build(torch, headers, rocm_include, folder)
    return folder


def _build(torch: InstalledTorch, headers: Path, rocm_include: Path, folder: Path) -> None:
    compiler = (host_cxx()[0],) if len(host_cxx()) == 2 else host_cxx()
    includes = [headers, headers / "torch/csrc/api/include", rocm_include]
    command = [*compiler, *FLAGS, f"-std={torch.standard}", *(f"-D{name}" for name in DEFINES)]
    command += [word for include in includes for word in ("-isystem", str(include))]
    with (
        tempfile.TemporaryDirectory(prefix=".torch-libraries-", dir=folder.parent) as scratch,
        first_build("torch's libraries for extensions", len(LIBRARIES), folder) as part_done,
        ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool,
    ):
        work, made = Path(scratch), Path(scratch) / "made"
        made.mkdir()

        def compiled(name: str) -> Path:
            """A library's sources, compiled together: reading torch's headers is most of the work."""
            unit, target = work / f"{name}.cpp", work / f"{name}.o"
            unit.write_text("".join(f'#include "{NATIVE / source}"\n' for source in LIBRARIES[name]))
            _run([*command, "-c", str(unit), "-o", str(target)], name)
            part_done()
            return target

        objects = dict(zip(LIBRARIES, pool.map(compiled, LIBRARIES), strict=True))
        link = [*compiler, "-shared", "-pthread", f"-L{torch.folder / 'lib'}", "-lc10", "-ltorch_cpu"]
        math = library_directory(None)
        link += [f"-L{runtime_directory()}", "-lamdhip64", f"-Wl,-rpath,$ORIGIN:{math}:{runtime_directory()}"]
        for name, compiled_unit in objects.items():
            more = (
                [f"-L{made}", "-lc10_hip", f"-L{math}", *(f"-l{one}" for one in _MATH)] if name == "torch_hip" else []
            )
            output = made / f"lib{name}.so"
            words = ["-o", str(output), f"-Wl,-soname,{output.name}", str(compiled_unit)]
            _run([*link[:3], *words, *link[3:], *more], output.name)
        try:
            made.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise


def _run(command: Sequence[str], what: str) -> None:
    done = run_child(command)
    if done.returncode != 0:
        raise TorchLibraryError(f"{command[0]} refused {what}:\n{done.stderr.strip()[-3000:]}")
