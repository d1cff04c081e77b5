import torch

device = torch.device("rocm")
first = torch.zeros(2, device="hip:0")


def move(model):
    return model.to("hip"), model.to(device="rocm:1")


def default(x, device="hip"):
    return x.to(device)


def by_variable(x, wanted):
    kind = "rocm" if wanted else "cpu"
    return default(x, torch.device(kind))
