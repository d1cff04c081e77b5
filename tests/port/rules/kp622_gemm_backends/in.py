import os

import torch
import torch._inductor.config as config

config.max_autotune_gemm_backends = "ATEN,CUTLASS,TRITON"
os.environ["TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS"] = "CUTLASS"


def build(model):
    return torch.compile(model, options={"max_autotune_gemm_backends": "CUTLASS"})
