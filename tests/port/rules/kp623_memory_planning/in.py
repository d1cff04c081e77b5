import torch
from torch._inductor import config

config.memory_planning = True


def build(model):
    return torch.compile(model, options={"memory_planning": True})
