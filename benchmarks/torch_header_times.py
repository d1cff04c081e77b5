"""What torch's headers cost a source of an extension: processor time of clang's host pass, without any code.

python benchmarks/torch_header_times.py
"""

from __future__ import annotations

import resource
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from kernel_pytorch.toolchain.compile import CompileOptions
from kernel_pytorch.toolchain.compiler_flags import common_flags
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.toolchain.torch_headers import DEFINES, installed_torch, rocm_headers

SOURCES = {
    "no header of torch": (),
    "ATen/core/Tensor.h, one operator": ("ATen/core/Tensor.h", "ATen/ops/empty_like.h", "c10/hip/HIPGuard.h"),
    "those and torch/csrc/utils/pybind.h": ("torch/csrc/utils/pybind.h", "ATen/ops/empty_like.h", "c10/hip/HIPGuard.h"),
    "torch/extension.h": ("torch/extension.h", "c10/hip/HIPGuard.h"),
}


def main() -> None:
    torch, toolchain = installed_torch(), find_toolchain()
    headers = rocm_headers(torch)
    folders = (headers, headers / "torch/csrc/api/include", Path(sysconfig.get_paths()["include"]))
    options = CompileOptions(include_dirs=folders, std=torch.standard, defines=(*DEFINES, "TORCH_EXTENSION_NAME=x"))
    with tempfile.TemporaryDirectory(prefix="kpt-headers-") as scratch:
        for name, included in SOURCES.items():
            source = Path(scratch) / "source.hip"
            source.write_text("".join(f"#include <{one}>\n" for one in included))
            command = [*common_flags(toolchain, options, "gfx942"), "--cuda-host-only", "-fsyntax-only", str(source)]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"{name}: {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
