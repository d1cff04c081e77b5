"""Every way to switch TF32 on."""

import torch

torch.backends.cuda.matmul.allow_tf32 = True  # faster
torch.set_float32_matmul_precision("high")


def prepare(config, fast):
    torch.backends.cuda.matmul.allow_tf32 = config.tf32
    if fast: torch.backends.cuda.matmul.allow_tf32 = True
    flags = torch.backends.cuda.matmul
    flags.fp32_precision = "tf32"
    torch.set_float32_matmul_precision("medium" if fast else "highest")
    torch.set_float32_matmul_precision(precision="medium")
