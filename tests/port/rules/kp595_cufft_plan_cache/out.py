import torch

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

if not IS_ROCM:
    torch.backends.cuda.cufft_plan_cache.max_size = 32


def limit(device):
    if not IS_ROCM:
        torch.backends.cuda.cufft_plan_cache[device].max_size = 8
