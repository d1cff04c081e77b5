import torch


def build(model):
    return torch.compile(model, backend="cudagraphs")
