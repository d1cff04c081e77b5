import torch
import torch._inductor.config as inductor_config
from torch._inductor import config

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

inductor_config.triton.cudagraphs = False if IS_ROCM else True
config.triton.cudagraph_trees = False if IS_ROCM else True


def build(model, graphs):
    torch._inductor.config.triton.cudagraphs = False if IS_ROCM else graphs
    settings = torch._inductor.config
    settings.triton.cudagraphs = False if IS_ROCM else True
    with config.patch({"triton.cudagraphs": False if IS_ROCM else True}):
        pass
    return torch.compile(model, options={"triton.cudagraphs": False if IS_ROCM else True, "epilogue_fusion": True})
