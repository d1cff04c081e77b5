import torch

torch.backends.cuda.matmul.fp32_precision = "ieee"
name = "bfx9"


class Settings:
    fp32_precision = "bfx9"
