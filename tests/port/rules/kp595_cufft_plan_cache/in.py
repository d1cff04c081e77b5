import torch

torch.backends.cuda.cufft_plan_cache.max_size = 32


def limit(device):
    torch.backends.cuda.cufft_plan_cache[device].max_size = 8
