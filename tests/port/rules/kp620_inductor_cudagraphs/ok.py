import torch
from torch._inductor import config

config.triton.cudagraphs = False
config.triton.unique_kernel_names = True
torch._inductor.config.fx_graph_cache = True


class Settings:
    pass


settings = Settings()
settings.cudagraphs = True
compiled = torch.compile(torch.relu, options={"triton.cudagraphs": False})
