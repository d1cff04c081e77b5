import torch
import torch._inductor.config

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

torch._inductor.config.max_autotune = not IS_ROCM


def build(model):
    with torch._inductor.config.patch(max_autotune_gemm=not IS_ROCM):
        pass
    return torch.compile(model, options={"max_autotune": not IS_ROCM})
