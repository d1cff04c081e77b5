"""What stays: switched off, cuDNN's own flag, a saved value put back, a gate, text."""

import torch

IS_ROCM = torch.version.hip is not None

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = True
torch.set_float32_matmul_precision("highest")
if not IS_ROCM:
    torch.backends.cuda.matmul.allow_tf32 = True
NOTE = "torch.backends.cuda.matmul.allow_tf32 = True"


def exact(run):
    saved = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    run()
    torch.backends.cuda.matmul.allow_tf32 = saved
