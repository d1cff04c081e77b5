"""Remembers which toolchain this machine has, so that a cached kernel need not look for it again.

Finding a compiler starts processes and reads package metadata: more time than a cache hit may take. What was
found is kept beside the kernels with the stamps (size and modification time) of every place the search looked
at; any change there, an installation as well as an upgrade, makes it look again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.toolchain.cache import KernelCache
from kernel_pytorch.version import VERSION

if TYPE_CHECKING:
    from kernel_pytorch.toolchain.find import Toolchain

Stamp = tuple[str, int, int]
"""Path, size, modification time in nanoseconds; -1 and -1 for what is not there."""

SEARCH_VARIABLES = (
    "PATH", "KPT_TOOLCHAIN", "KPT_ROCM_ROOT", "KPT_HEADERS", "KPT_CXX_HEADERS", "ROCM_PATH", "ROCM_HOME", "HIP_PATH",
)  # fmt: skip
COMPILER_VARIABLES = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS")
_OWN_INCLUDE = Path(__file__).parent / "include"


@dataclass(frozen=True)
class ToolchainIdentity:
    """`fingerprint` changes when compiler, headers or device libraries do; `description` says which they are."""

    fingerprint: str
    description: str


def stamp(path: str) -> Stamp:
    """The stamp of a file or directory as it is now."""
    try:
        status = os.stat(path)  # noqa: PTH116 (hundreds of these decide how fast a hit is)
    except OSError:
        return (path, -1, -1)
    return (path, status.st_size, status.st_mtime_ns)


def unchanged(stamps: Iterable[Stamp]) -> bool:
    """True if every path still has the stamp it had."""
    return all(stamp(path) == (path, size, time_ns) for path, size, time_ns in stamps)


def remembered_identity(memory: KernelCache) -> ToolchainIdentity | None:
    """The toolchain found last time, if nothing that could change the answer has changed."""
    stored = memory.get(_key())
    if stored is None:
        return None
    record = json.loads(stored)
    if not unchanged(record["stamps"]):
        return None
    return ToolchainIdentity(record["fingerprint"], record["description"])


def identity_of(toolchain: Toolchain) -> ToolchainIdentity:
    """The identity of a toolchain that was just found."""
    return ToolchainIdentity(toolchain.fingerprint(), f"{toolchain.version}: {toolchain.reason}")


def remember_identity(memory: KernelCache, toolchain: Toolchain) -> None:
    """Keep what was found for the next process."""
    identity = identity_of(toolchain)
    stamps = [stamp(path) for path in dict.fromkeys(_places(toolchain))]
    record = {"fingerprint": identity.fingerprint, "description": identity.description, "stamps": stamps}
    memory.put(_key(), json.dumps(record).encode())


def _key() -> str:
    """One record per set of circumstances under which the search could end differently."""
    local_tree = Path(".rocm")
    facts = [
        VERSION,
        str(_OWN_INCLUDE),
        sys.prefix,
        *_package_folders(),
        str(local_tree.absolute()) if local_tree.exists() else "",
        *(f"{name}={os.environ.get(name, '')}" for name in SEARCH_VARIABLES),
    ]
    return hashlib.sha256("\0".join(facts).encode(errors="surrogateescape")).hexdigest()


def _places(toolchain: Toolchain) -> Iterator[str]:
    # A directory's own time changes when something is added to it or removed from it.
    yield from filter(None, os.environ.get("PATH", "").split(os.pathsep))
    yield from _package_folders()
    yield from ("/opt", "/opt/rocm", "/usr/include", "/usr/include/hip", "/usr/include/c++", "/usr/lib/gcc", ".rocm")
    for name in ("KPT_ROCM_ROOT", "ROCM_PATH", "ROCM_HOME", "HIP_PATH"):
        if os.environ.get(name):
            yield os.environ[name]
    yield toolchain.compiler[0]
    if toolchain.linker is not None:
        yield toolchain.linker[0]
    yield from map(str, toolchain.device_libs)
    if toolchain.device_lib_dir is not None:
        yield str(toolchain.device_lib_dir)
        yield str(toolchain.device_lib_dir / "ocml.bc")
    for directory in toolchain.include_dirs:
        yield str(directory)
        yield str(directory / "hip")
        yield str(directory / "hip/hip_version.h")
    yield from (str(path) for path in sorted(_OWN_INCLUDE.rglob("*")))


def _package_folders() -> list[str]:
    return [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
