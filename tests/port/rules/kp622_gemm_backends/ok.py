import torch._inductor.config as config

config.max_autotune_gemm_backends = "ATEN,TRITON"
NAMES = ["CUTLASS"]
