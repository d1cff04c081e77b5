"""Every way to switch TF32 on."""

import torch

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

if not IS_ROCM:
    torch.backends.cuda.matmul.allow_tf32 = True  # faster
torch.set_float32_matmul_precision("highest" if IS_ROCM else "high")


def prepare(config, fast):
    if not IS_ROCM:
        torch.backends.cuda.matmul.allow_tf32 = config.tf32
    if fast: torch.backends.cuda.matmul.allow_tf32 = not IS_ROCM
    flags = torch.backends.cuda.matmul
    if not IS_ROCM:
        flags.fp32_precision = "tf32"
    torch.set_float32_matmul_precision(("highest" if IS_ROCM else "medium") if fast else "highest")
    torch.set_float32_matmul_precision(precision="highest" if IS_ROCM else "medium")
