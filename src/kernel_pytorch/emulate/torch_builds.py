"""Where a torch program on an emulated GPU keeps what it builds, and how Inductor builds it."""

from __future__ import annotations

from collections.abc import Mapping

from kernel_pytorch.core.cache_folder import default_cache
from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.core.python_child import python_module
from kernel_pytorch.emulate.torch_program import COMPLETE_COMMAND


def with_torch_builds(environment: Mapping[str, str], gpu: GPU) -> dict[str, str]:
    """The environment with folders of its own for extensions and Inductor's kernels. What the user set stays.

    What is made for an emulated GPU must not be found by a program that has a real one.
    """
    kept = default_cache() / f"torch-builds-{gpu.target.name}"
    chosen = {
        "TORCH_EXTENSIONS_DIR": str(kept / "extensions"),
        "TORCHINDUCTOR_CACHE_DIR": str(kept / "inductor"),
        # In the program's own process: workers would each have to start torch, for a few small kernels.
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        # It is a part of torch's GPU build. Without it Inductor launches with Triton's launcher.
        "TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER": "0",
    }
    complete = " ".join(python_module("kernel_pytorch.emulate.torch_extension"))
    return {**chosen, **environment, COMPLETE_COMMAND: complete}
