import torch

SUPPORTED = (torch.float8_e4m3fn, torch.bfloat16)
FP8 = torch.float8_e4m3fn


def quantize(x, scale):
    limit = torch.finfo(torch.float8_e4m3fn).max
    return (x / scale).clamp(-limit, limit).to(torch.float8_e4m3fn)


def gradients(shape):
    return torch.empty(shape, dtype=torch.float8_e5m2, device="cuda")


def is_fp8(x):
    return x.dtype == torch.float8_e4m3fn
