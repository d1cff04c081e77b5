"""What a figure depends on besides the code: written into every report."""

from __future__ import annotations

import os
import platform

from kernel_pytorch.models.clock.device import Device

# Settings that change what is measured.
VARIABLES = (
    "TORCHINDUCTOR_MAX_AUTOTUNE", "PYTORCH_TUNABLEOP_ENABLED", "TORCH_BLAS_PREFER_HIPBLASLT", "HIP_LAUNCH_BLOCKING",
    "CUDA_LAUNCH_BLOCKING", "GPU_MAX_HW_QUEUES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "AMD_LOG_LEVEL",
    "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "OMP_NUM_THREADS",
)  # fmt: skip


def environment(device: Device) -> dict[str, str]:
    """Versions, device and the variables that are set."""
    import torch

    from kernel_pytorch.version import VERSION

    found = {
        "kpt": VERSION,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": f"{device.kind}: {device.name}",
        "threads": str(torch.get_num_threads()),
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
    }
    if torch.version.hip:
        found["hip"] = str(torch.version.hip)
    elif torch.version.cuda:
        found["cuda"] = str(torch.version.cuda)
    return {**found, **{name: os.environ[name] for name in VARIABLES if name in os.environ}}


def blocking_launches() -> str | None:
    """A setting that makes every figure meaningless, if it is on."""
    for name in ("HIP_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING"):
        if os.environ.get(name, "0") not in ("", "0"):
            return f"{name} is set: every launch waits for its kernel, and no figure here is that of a normal run"
    return None
