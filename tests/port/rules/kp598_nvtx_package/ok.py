import torch
from torch.cuda import nvtx

try:
    import nvtx as nvtx_package
except ImportError:
    nvtx_package = None


def step(x):
    nvtx.range_push("step")
    torch.cuda.nvtx.range_pop()
    return x + 1
