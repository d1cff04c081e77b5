import torch


def load(raw, scale):
    weight = raw.view(torch.float8_e4m3fn)
    return weight.to(torch.bfloat16) * scale
