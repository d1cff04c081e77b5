import torch

FP8_MAX = 448.0


def scale_of(x):
    return x.abs().amax() / 448.0


def clamp_fp8(x):
    return x.clamp(-448, 448).to(torch.float8_e4m3fn)
