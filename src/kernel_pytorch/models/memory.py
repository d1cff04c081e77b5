"""Running out of memory: how it shows, and what can be given back."""

from __future__ import annotations

import gc
from typing import Any

from kernel_pytorch.core.errors import ROCmMemoryError


def is_out_of_memory(error: BaseException) -> bool:
    """Did a device or the host run out of memory?"""
    import torch

    if isinstance(error, (MemoryError, ROCmMemoryError, torch.OutOfMemoryError)):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and (
        "DefaultCPUAllocator: can't allocate memory" in text or "out of memory" in text.lower()
    )


def release_unused(device: Any) -> None:
    """Drop what only garbage cycles hold, and give cached blocks back to the device."""
    import torch

    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
