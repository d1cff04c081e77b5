"""Compiles the C++ of the torch device with the host's compiler, against the headers of the installed torch.

Kept in the cache under a name made of torch's version, the sources and the compiler: built once for each.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kernel_pytorch.core.build_lock import one_builder
from kernel_pytorch.core.cache_folder import default_cache
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.first_build import first_build
from kernel_pytorch.core.process import run_child
from kernel_pytorch.emulate.libraries import host_cxx

SOURCES = Path(__file__).parents[1] / "native" / "torch_device"
NAME = "libkpt_torch_device.so"
TRIED = ("2.9", "2.10", "2.11", "2.12", "2.13")
UNTRIED = "KPT_TORCH_UNTRIED"
# With a header for each operator, torch's own headers do not bring in all of them: a third less to parse.
FLAGS = ("-std=c++20", "-O1", "-fPIC", "-fvisibility=hidden", "-w", "-DAT_PER_OPERATOR_HEADERS")
# Compiled together: a file alone would parse ATen's headers again, which is most of the work. Two units, for two cores.
_UNITS = (
    ("memory", "device", "generator", "api", "fallback", "adjust", "capture"),
    (
        "kernels",
        "attention",
        "aliases",
        "operator",
        "sparse",
        "stream_uses",
        "nested",
        "settings",
        "profiler",
        "ddp_timer",
    ),
)


class TorchDeviceError(UsageError):
    """This torch cannot get an emulated GPU here."""


def device_library(torch_folder: Path, version: str, runtime: Path) -> Path:
    """The shared library for this torch, built when it is not there. `runtime` has libamdhip64.so."""
    require_tried(version)
    compiler = device_compiler()
    folder = default_cache() / f"torch-device-{_identity(torch_folder, version, compiler)}"
    if not (folder / NAME).exists():
        with one_builder(folder):
            if not (folder / NAME).exists():
                _build(folder, torch_folder, version, compiler, runtime)
    return folder / NAME


def require_tried(version: str) -> None:
    """Refuses a torch that nobody tried: its insides may differ in ways that show late and look like other faults."""
    if ".".join(version.split(".")[:2]) in TRIED or os.environ.get(UNTRIED) == "1":
        return
    raise TorchDeviceError(
        f"torch {version} was never tried, or its tests do not pass: the emulated GPU calls torch's insides, which "
        f"change from version to version. It works with torch {_tried()}. Install one of them into an environment of "
        f"its own: python -m venv emulated && emulated/bin/pip install torch=={TRIED[-1]}.0. {UNTRIED}=1 tries yours"
    )


def _tried() -> str:
    return f"{TRIED[0]} to {TRIED[-1]}"


def _build(folder: Path, torch_folder: Path, version: str, compiler: Sequence[str], runtime: Path) -> None:
    if not (torch_folder / "include" / "ATen").is_dir():
        raise TorchDeviceError(f"{torch_folder}: this torch comes without its C++ headers; install it from a wheel")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kpt-torch-device-", dir=folder.parent) as scratch:
        work = Path(scratch)
        include = torch_folder / "include"
        where = [f"-I{SOURCES}", f"-I{include}", f"-I{include / 'torch' / 'csrc' / 'api' / 'include'}"]

        what = f"the emulated GPU for torch {version} (it works with torch {_tried()})"

        def compiled_unit(unit: Sequence[str]) -> Path:
            source, target = work / f"{unit[0]}.cpp", work / f"{unit[0]}.o"
            source.write_text("".join(f'#include "{SOURCES / name}.cpp"\n' for name in unit))
            compiled([*compiler, *FLAGS, *where, "-c", str(source), "-o", str(target)], what)
            part_done()
            return target

        with (
            first_build(f"the emulated GPU for torch {version}", len(_UNITS), folder) as part_done,
            ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool,
        ):
            objects = list(pool.map(compiled_unit, _UNITS))
        made = work / "out" / NAME
        made.parent.mkdir()
        libraries = [f"-L{torch_folder / 'lib'}", "-ltorch_cpu", "-ltorch_python", "-lc10"]
        # The runtime by its file: which one is loaded is decided before this library is.
        own = [f"-L{runtime}", "-l:libamdhip64.so.7"]
        compiled([*compiler, "-shared", "-o", str(made), *map(str, objects), *libraries, *own, "-Wl,-z,defs"], what)
        if not folder.exists():
            made.parent.rename(folder)


def device_compiler() -> tuple[str, ...]:
    """The host's C++ compiler with the system's library, which torch was built with."""
    found = host_cxx()
    if "ziglang" in found:
        raise TorchDeviceError(
            "the emulated GPU for torch is C++ that calls torch: it needs g++ or clang++ with the system's library. "
            "ziglang brings another one. Install g++ (Debian: apt install g++), or name a compiler in KPT_HOST_CXX"
        )
    return tuple(found)


def _identity(torch_folder: Path, version: str, compiler: Sequence[str]) -> str:
    digest = hashlib.sha256("\0".join([*compiler, *FLAGS, version, repr(_UNITS)]).encode())
    library = torch_folder / "lib" / "libtorch_cpu.so"
    for path in (library, Path(compiler[0])):
        digest.update(f"{size_of(path)} ".encode())
    for path in sorted(SOURCES.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def size_of(program: Path) -> int:
    """Two builds of one version, and a new compiler under the old name, are told apart by their size."""
    found = program if program.exists() else Path(shutil.which(program) or program)
    return found.stat().st_size if found.exists() else 0


def compiled(command: Sequence[str], what: str) -> None:
    """Run a compiler. Its words are in the error."""
    done = run_child(command)
    if done.returncode != 0:
        raise TorchDeviceError(f"{what} could not be built:\n{done.stderr.strip()[-4000:]}")
