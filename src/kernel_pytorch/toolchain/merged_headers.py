"""One include folder out of the several that a toolchain searches, for a compiler that is told one.

A ROCm installation has all its headers in one folder, and build descriptions pass that folder to the host's compiler.
Nothing is copied: the folder holds links.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.toolchain.roots import FALLBACK_INCLUDE, LIBRARIES_INCLUDE, WRAPPER_INCLUDE

# Headers that stand in front of the C++ library's are for the device compiler; the host finds its own.
_NOT_FOR_HOST = (WRAPPER_INCLUDE, Path("/usr/include"))


def host_header_roots(toolchain: Toolchain) -> tuple[Path, ...]:
    """Where the host's compiler finds HIP's headers and those of its libraries, best first."""
    own = [root for root in toolchain.include_dirs if root not in _NOT_FOR_HOST]
    return (*own, LIBRARIES_INCLUDE, FALLBACK_INCLUDE)


def merge_headers(folder: Path, roots: Sequence[Path]) -> None:
    """Fill `folder` with links to what is in `roots`; of two files of one name the first root's is taken."""
    folder.mkdir(parents=True, exist_ok=True)
    names = sorted({entry.name for root in roots if root.is_dir() for entry in root.iterdir()})
    for name in names:
        found = [root / name for root in roots if (root / name).exists()]
        folders = [path for path in found if path.is_dir()]
        target = folder / name
        if target.exists() or not found:
            continue
        if found[0].is_dir() and len(folders) > 1:
            merge_headers(target, folders)
        else:
            target.symlink_to(found[0].resolve())
