import torch
import torch._inductor.config as inductor_config
from torch._inductor import config

inductor_config.triton.cudagraphs = True
config.triton.cudagraph_trees = True


def build(model, graphs):
    torch._inductor.config.triton.cudagraphs = graphs
    settings = torch._inductor.config
    settings.triton.cudagraphs = True
    with config.patch({"triton.cudagraphs": True}):
        pass
    return torch.compile(model, options={"triton.cudagraphs": True, "epilogue_fusion": True})
