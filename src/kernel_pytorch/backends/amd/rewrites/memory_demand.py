"""Does one training step on the example fit in the share of the GPU this process may have?"""

from __future__ import annotations

from typing import Any

from kernel_pytorch.models.check.proof import Proof
from kernel_pytorch.models.memory import is_out_of_memory


def step_does_not_fit(proof: Proof, fraction: float, device: Any) -> bool:
    """Runs a step and reads the peak. False on the CPU, where the host's memory is not what limits a model."""
    import torch

    if device is None or device.type != "cuda":
        return False
    torch.cuda.reset_peak_memory_stats(device)
    try:
        proof.run()
    except Exception as error:
        if is_out_of_memory(error):
            return True
        raise
    peak: int = torch.cuda.max_memory_allocated(device)
    total: int = torch.cuda.get_device_properties(device).total_memory
    return peak > fraction * total
