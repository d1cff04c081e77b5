import torch

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

if not IS_ROCM:
    torch.backends.cuda.matmul.fp32_precision = "bfx9"


def fast():
    if not IS_ROCM:
        torch.backends.fp32_precision = "bfx9"
