"""Where HIP headers and device libraries can come from: ROCm, an unpacked Debian tree, PyPI's triton."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OWN_INCLUDE = Path(__file__).parent / "include"
WRAPPER_INCLUDE = OWN_INCLUDE / "wrapper"
COMPLETING_INCLUDE = OWN_INCLUDE / "complete"
FALLBACK_INCLUDE = OWN_INCLUDE / "fallback"
# Declarations of ROCm's libraries. Searched last: a real header wins.
LIBRARIES_INCLUDE = OWN_INCLUDE / "libraries"


@dataclass(frozen=True)
class HeaderRoot:
    """One source of HIP headers with the device libraries that belong to them.

    `bitcode_dir` is set where the library has a control-constant file per value (the compiler driver picks
    them); `bitcode` where only the two big libraries are there and the constants are ours.
    """

    kind: str  # "rocm", "debian" or "triton"
    root: Path
    include_dirs: tuple[Path, ...]
    bitcode_dir: Path | None
    bitcode: tuple[Path, ...]


def header_root(root: Path) -> HeaderRoot | None:
    """What a directory holds: ROCm's layout, Debian's layout (a tree unpacked anywhere, or /), or neither."""
    root = root.absolute()
    include = root / "usr/include"
    if (include / "hip/hip_runtime.h").is_file():
        multiarch = tuple(sorted(path.parent for path in include.glob("*-linux-gnu/hip")))
        return HeaderRoot("debian", root, (include, *multiarch), _bitcode_dir(root), ())
    if (root / "include/hip/hip_runtime.h").is_file():
        return HeaderRoot("rocm", root, (root / "include",), _bitcode_dir(root), ())
    return None


def rocm_roots() -> Iterator[Path]:
    """Directories that may be a ROCm installation, best first."""
    seen: set[Path] = set()
    for candidate in _rocm_candidates():
        resolved = candidate.resolve()
        if resolved not in seen and (resolved / "include/hip/hip_runtime.h").is_file():
            seen.add(resolved)
            yield resolved


def unpacked_root(explicit: Path | None = None) -> Path | None:
    """The tree named by the caller or by KPT_ROCM_ROOT; None if neither does.

    Never one that lies in the current folder: that is the project, and a compiler in it would be the project's.
    """
    if explicit is not None:
        return explicit
    named = os.environ.get("KPT_ROCM_ROOT")
    return Path(named) if named else None


def triton_root() -> HeaderRoot | None:
    """The HIP headers and device libraries inside PyPI's triton. Found without importing triton."""
    directory = package_directory("triton")
    if directory is None:
        return None
    amd = directory / "backends/amd"
    libraries = (amd / "lib/ocml.bc", amd / "lib/ockl.bc")
    if not (amd / "include/hip/hip_runtime.h").is_file() or not all(path.is_file() for path in libraries):
        return None
    include_dirs = (amd / "include", COMPLETING_INCLUDE)
    return HeaderRoot("triton", amd, include_dirs, None, libraries)


def package_directory(name: str) -> Path | None:
    """The directory of an installed package, without importing it."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def _rocm_candidates() -> Iterator[Path]:
    for variable in ("ROCM_PATH", "ROCM_HOME", "HIP_PATH"):
        value = os.environ.get(variable)
        if value:
            yield Path(value)
    yield Path("/opt/rocm")
    for tool in ("hipcc", "amdclang++"):
        found = shutil.which(tool)
        if found:
            yield Path(found).resolve().parent.parent
    yield from sorted(Path("/opt").glob("rocm-*"), reverse=True)


def _bitcode_dir(root: Path) -> Path | None:
    patterns = (
        "amdgcn/bitcode",
        "lib/llvm/lib/clang/*/lib/amdgcn/bitcode",
        "llvm/lib/clang/*/lib/amdgcn/bitcode",
        "usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode",
        "usr/lib/llvm-*/lib/clang/*/lib/amdgcn/bitcode",
        "usr/lib/clang/*/amdgcn/bitcode",
        "usr/lib/clang/*/lib/amdgcn/bitcode",
        "usr/lib/*/amdgcn/bitcode",
        "usr/amdgcn/bitcode",
    )
    for pattern in patterns:
        for directory in sorted(root.glob(pattern), reverse=True):
            if (directory / "ocml.bc").is_file():
                return directory
    return None
