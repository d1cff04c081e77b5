"""The two ways a model is recorded: strictly (one defined arithmetic) and as it runs in production."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

STRICT = "strict"
PRODUCTION = "production"
MODES = (STRICT, PRODUCTION)


@contextlib.contextmanager
def numeric_settings(mode: str) -> Iterator[None]:
    """Strict: no TF32, no reduced-precision sums, math SDPA, deterministic where torch can. Production: as it is."""
    if mode == PRODUCTION:
        yield
        return
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = (
        torch.get_float32_matmul_precision(),
        matmul.allow_fp16_reduced_precision_reduction,
        matmul.allow_bf16_reduced_precision_reduction,
        cudnn.allow_tf32,
        cudnn.benchmark,
        cudnn.deterministic,
    )
    try:
        torch.set_float32_matmul_precision("highest")
        matmul.allow_fp16_reduced_precision_reduction = False
        matmul.allow_bf16_reduced_precision_reduction = False
        cudnn.allow_tf32, cudnn.benchmark, cudnn.deterministic = False, False, True
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        matmul.allow_fp16_reduced_precision_reduction = before[1]
        matmul.allow_bf16_reduced_precision_reduction = before[2]
        cudnn.allow_tf32, cudnn.benchmark, cudnn.deterministic = before[3:]


def described_settings() -> dict[str, str]:
    """The arithmetic in force, for the record."""
    import torch

    matmul, cudnn, cuda = torch.backends.cuda.matmul, torch.backends.cudnn, torch.backends.cuda
    settings = {
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "cudnn_allow_tf32": bool(cudnn.allow_tf32),
        "fp16_reduced_precision_reduction": bool(matmul.allow_fp16_reduced_precision_reduction),
        "bf16_reduced_precision_reduction": bool(matmul.allow_bf16_reduced_precision_reduction),
        "sdpa_flash": bool(cuda.flash_sdp_enabled()),
        "sdpa_memory_efficient": bool(cuda.mem_efficient_sdp_enabled()),
        "sdpa_math": bool(cuda.math_sdp_enabled()),
        "deterministic_algorithms": bool(torch.are_deterministic_algorithms_enabled()),
    }
    return {name: str(value) for name, value in settings.items()}


def described_machine(device: Any) -> dict[str, str]:
    """Which machine and which libraries a record was made with."""
    import platform

    import torch

    described = {
        "device": str(device),
        "device_name": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "cuda": str(torch.version.cuda or ""),
        "hip": str(torch.version.hip or ""),
    }
    if getattr(device, "type", str(device)).startswith("cuda"):
        properties = torch.cuda.get_device_properties(device)
        described["device_name"] = properties.name
        described["target"] = str(getattr(properties, "gcnArchName", "")) or f"sm_{properties.major}{properties.minor}"
    return described
