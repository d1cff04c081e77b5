"""Which installed packages are made for CUDA, and which for ROCm.

What a package is comes from the table of `kpt deps`. Where its name does not tell the build, the libraries its
compiled modules link to do: the ROCm build of flash-attn has the names and file names of the CUDA one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from kernel_pytorch.core.read_file import open_plain, read_text
from kernel_pytorch.doctor.distributions import Distribution
from kernel_pytorch.port.deps.packages import classify

AMD_PACKAGES = ("aiter", "amd-aiter", "amdsmi", "pytorch-triton-rocm", "triton-rocm", "jax-rocm7-plugin", "amd-quark")

_NAMES_CUDA = re.compile(r".*-cu(da)?1\d.*|(cuda|nvidia)-.*|onnxruntime-gpu|faiss-gpu.*|tensorrt.*")
_MAX_LIBRARIES = 12
_MAX_BYTES = 64 * 2**20


def cuda_only(item: Distribution) -> str:
    """What a package made for CUDA does on AMD: "breaks" (fails when used, or breaks torch) or "dead weight".
    Empty for all others."""
    row = classify(item.name)
    if row is None or row.action in ("keep", "protected"):
        return ""
    if row.action == "drop" and "breaks-torch" in row.tags:
        return "breaks"
    if not _NAMES_CUDA.fullmatch(item.name):
        return ""
    return "dead weight" if row.action == "drop" and "jax" not in row.tags else "breaks"


def replacement(name: str) -> str:
    """What `kpt deps` would put in a package's place, empty where it has nothing to offer."""
    row = classify(name)
    return row.replacement if row is not None else ""


@lru_cache(maxsize=256)
def built_for(item: Distribution) -> str:
    """ "cuda", "rocm" or "" for a package with compiled modules, from the libraries those link to."""
    row = classify(item.name)
    if row is None or row.action not in ("substitute", "person"):
        return ""
    verdicts = {_links_to(path) for path in _libraries(item)}
    return "rocm" if "rocm" in verdicts else "cuda" if "cuda" in verdicts else ""


def _libraries(item: Distribution) -> list[Path]:
    try:
        record = read_text(item.path / "RECORD", errors="replace")
    except OSError:
        return []
    names = [line.split(",")[0] for line in record.splitlines() if re.search(r"\.so(\.\d+)*,", line)]
    return [item.path.parent / name for name in names[:_MAX_LIBRARIES]]


def _links_to(path: Path) -> str:
    # The names of needed libraries stand as plain text in an ELF file's dynamic string table, near one end.
    try:
        with open_plain(path) as file:
            content = file.read(_MAX_BYTES)
    except OSError:
        return ""
    if b"libamdhip64.so" in content or b"libtorch_hip.so" in content:
        return "rocm"
    if b"libcudart.so" in content or b"libtorch_cuda.so" in content or b"libcuda.so" in content:
        return "cuda"
    return ""
