"""A folder that looks like an installed CUDA toolkit to a build description. Its compiler builds nothing."""

from __future__ import annotations

from pathlib import Path

from kernel_pytorch.toolchain.rocm_folder import REFUSE, write_tools

CUDA_VERSION = "12.8"

_NVCC = f"""case "$*" in
  *--version*|*-V*) echo "nvcc: NVIDIA (R) Cuda compiler driver"
    echo "Cuda compilation tools, release {CUDA_VERSION}, V{CUDA_VERSION}.61"; exit 0;;
esac
{REFUSE}"""


def cuda_folder(folder: Path) -> Path:
    """Write a stood-in CUDA toolkit."""
    write_tools(folder, {"nvcc": _NVCC})
    (folder / "version.json").write_text(f'{{"cuda": {{"name": "CUDA SDK", "version": "{CUDA_VERSION}.0"}}}}\n')
    (folder / "lib64").symlink_to("lib")
    return folder
