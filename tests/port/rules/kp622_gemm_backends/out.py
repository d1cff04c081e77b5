import os

import torch
import torch._inductor.config as config

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

config.max_autotune_gemm_backends = "ATEN,TRITON" if IS_ROCM else "ATEN,CUTLASS,TRITON"
os.environ["TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS"] = "ATEN,TRITON" if IS_ROCM else "CUTLASS"


def build(model):
    return torch.compile(model, options={"max_autotune_gemm_backends": "ATEN,TRITON" if IS_ROCM else "CUTLASS"})
