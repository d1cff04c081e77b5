"""Makes the torch of a child process look like a ROCm or a CUDA build. Only children of `kpt verify` call this.

What is patched is gone with the process. Nothing runs on a GPU.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernel_pytorch.core.hardware import GPU, gpu_by_alias


def present_rocm(torch: Any, hip: str, product: str, arch_name: str = "") -> None:
    """torch as a ROCm build sees it, with one GPU of the hardware table. `arch_name` defaults to the plain target."""
    gpu = gpu_by_alias(product)
    digits = gpu.target.name.removeprefix("gfx")
    torch.version.hip = hip
    torch.version.cuda = None
    _present(
        torch,
        types.SimpleNamespace(
            # A real product's name and figures: projects ask the name for its vendor, and size things by the rest.
            name=f"AMD {'Instinct' if gpu.name.startswith('MI') else 'Radeon'} {gpu.name}",
            gcnArchName=arch_name or gpu.target.name,
            major=int(digits[:-2]),
            minor=int(digits[-2], 16),
            **_figures(gpu),
        ),
    )
    _show_library("libtorch_hip.so")


def present_cuda(torch: Any, cuda: str, product: str) -> None:
    """torch as a CUDA build sees it, with one GPU of the hardware table."""
    gpu = gpu_by_alias(product)
    digits = gpu.target.name.removeprefix("sm_")
    torch.version.hip = None
    torch.version.cuda = cuda
    name = f"NVIDIA {gpu.name}"
    _present(torch, types.SimpleNamespace(name=name, major=int(digits[:-1]), minor=int(digits[-1]), **_figures(gpu)))


def present_built_with_gpu(torch: Any, local_version: str, arch_list: list[str]) -> None:
    """More of the same, which build descriptions ask: a device that is there, a version with its local part."""
    plain = str(torch.__version__).partition("+")[0]
    torch.__version__ = torch.version.__version__ = f"{plain}+{local_version}"
    torch.has_cuda = True
    torch._C._has_cuda = True
    torch.cuda._is_compiled = _answer(True)
    torch.cuda.is_available = _answer(True)
    torch.cuda.device_count = _answer(1)
    torch.cuda.current_device = _answer(0)
    torch.cuda.get_arch_list = _answer(arch_list)
    torch._C._cuda_getArchFlags = _answer(" ".join(arch_list))
    torch.backends.cuda.is_built = _answer(True)


def _present(torch: Any, properties: types.SimpleNamespace) -> None:
    torch.cuda.get_device_properties = _answer(properties)
    torch.cuda.get_device_name = _answer(properties.name)
    torch.cuda.get_device_capability = _answer((properties.major, properties.minor))


def _figures(gpu: GPU) -> dict[str, int]:
    return {
        "total_memory": int(gpu.memory_gib * 2**30),
        "multi_processor_count": gpu.compute_units,
        "warp_size": gpu.target.wave_size,
    }


def _answer(value: Any) -> Callable[..., Any]:
    def answer(*_arguments: object, **_keywords: object) -> Any:
        return value

    return answer


def _show_library(name: str) -> None:
    """A file that may not import torch yet asks for the library that only a ROCm torch has."""
    is_file: Any = Path.is_file

    def is_file_there(path: Path, **options: Any) -> bool:
        return path.name == name or bool(is_file(path, **options))

    Path.is_file = is_file_there  # type: ignore[method-assign,assignment]
