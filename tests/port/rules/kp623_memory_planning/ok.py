import torch
from torch._inductor import config

config.memory_planning = False


def build(model, plan):
    plan.memory_planning = True
    return torch.compile(model)
