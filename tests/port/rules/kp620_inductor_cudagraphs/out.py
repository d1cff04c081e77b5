import torch
import torch._inductor.config as inductor_config
from torch._inductor import config

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

inductor_config.triton.cudagraphs = not IS_ROCM
config.triton.cudagraph_trees = not IS_ROCM


def build(model, graphs):
    torch._inductor.config.triton.cudagraphs = False if IS_ROCM else graphs
    settings = torch._inductor.config
    settings.triton.cudagraphs = not IS_ROCM
    with config.patch({"triton.cudagraphs": not IS_ROCM}):
        pass
    return torch.compile(model, options={"triton.cudagraphs": not IS_ROCM, "epilogue_fusion": True})
