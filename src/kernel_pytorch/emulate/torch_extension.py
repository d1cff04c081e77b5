"""What torch.utils.cpp_extension needs on an emulated GPU, made when an extension is first built.

`python -m kernel_pytorch.emulate.torch_extension TORCH ROCM` completes the stood-in ROCm of a run: headers of HIP and
of torch in their ROCm form, and the libraries that extensions are linked against. TORCH is the folder of the torch
that is installed, ROCM that of the stand-in. torch is not imported.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from kernel_pytorch.core.build_lock import one_builder
from kernel_pytorch.core.children import ended_by_signals
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.emulate.libraries import library_directory
from kernel_pytorch.emulate.outside import step_outside
from kernel_pytorch.emulate.rocm_for_builds import fill_rocm, link, link_libraries
from kernel_pytorch.emulate.runtime_build import runtime_directory
from kernel_pytorch.emulate.torch_libraries import torch_libraries, torch_library_folder
from kernel_pytorch.toolchain.torch_headers import rocm_headers, torch_at

# Below the stand-in: a folder that has `include`, as torch's own has.
TORCH = "torch"
_DONE = ".torch-extension"


def complete_rocm(torch_folder: Path, rocm: Path) -> None:
    """Fill the stand-in with what an extension's build looks for. Raises UsageError where that cannot be had."""
    torch = torch_at(torch_folder)
    made_for = f"{runtime_directory()}\n{library_directory(None)}\n{torch_library_folder(torch)}\n"
    if _is_done(rocm, made_for):
        return
    with one_builder(rocm / _DONE):
        if _is_done(rocm, made_for):
            return
        fill_rocm(rocm)
        headers = rocm_headers(torch)
        (rocm / TORCH).mkdir(exist_ok=True)
        link(rocm / TORCH / "include", headers)
        link_libraries(rocm, (torch_libraries(torch, headers, rocm / "include"),))
        (rocm / _DONE).write_text(made_for)


def _is_done(rocm: Path, made_for: str) -> bool:
    return (rocm / _DONE).is_file() and (rocm / _DONE).read_text() == made_for


def main(arguments: Sequence[str]) -> int:
    step_outside()
    torch_folder, rocm = map(Path, arguments)
    try:
        complete_rocm(torch_folder, rocm)
    except (UsageError, OSError) as problem:
        print(f"kpt: an extension cannot be built here: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    with ended_by_signals():
        sys.exit(main(sys.argv[1:]))
