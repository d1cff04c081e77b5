import torch


def load(raw, scale):
    flat = raw.view(-1)
    words = flat.view(torch.uint8)
    return words, scale, raw.to(torch.float8_e4m3fn)
