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


def _to_fp8(x, dtype):
    limit = torch.finfo(dtype).max
    return x.clamp(-limit, limit).to(dtype)


def helper(x):
    return _to_fp8(x, torch.float8_e4m3fn)


def by_variable(x, small):
    kind = torch.float8_e5m2 if small else torch.bfloat16
    return x.to(kind)


KV_DTYPE = torch.float8_e4m3fn


def cache(x):
    return x.to(KV_DTYPE)


def default(x, dtype=torch.float8_e4m3fn):
    return torch.zeros_like(x, dtype=dtype)


def fp8_dtype():
    return torch.float8_e4m3fn


def to_library(layer, quantizer):
    return quantizer.prepare(layer, torch.float8_e4m3fn)
