import torch

torch.backends.cuda.matmul.fp32_precision = "bfx9"


def fast():
    torch.backends.fp32_precision = "bfx9"
