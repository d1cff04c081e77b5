import torch
from torch._inductor import config

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

config.memory_planning = not IS_ROCM


def build(model):
    return torch.compile(model, options={"memory_planning": not IS_ROCM})
