import torch
import torch._inductor.config

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

torch._inductor.config.max_autotune = False if IS_ROCM else True


def build(model):
    with torch._inductor.config.patch(max_autotune_gemm=False if IS_ROCM else True):
        pass
    return torch.compile(model, options={"max_autotune": False if IS_ROCM else True})
