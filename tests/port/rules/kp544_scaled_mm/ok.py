import torch


def linear(x, w, sx, sw):
    try:
        return torch._scaled_mm(x, w.t(), scale_a=sx, scale_b=sw, out_dtype=torch.bfloat16)
    except RuntimeError:
        return (x.float() * sx) @ (w.float() * sw).t()


def other(ops, x):
    return ops.scaled_mm(x)
