import torch

device = torch.device("cuda")
first = torch.zeros(2, device="cuda:0")
backend = "hip"
backends = {"rocm": torch.device("cuda")}


def move(model, settings):
    settings.choose("rocm")
    return model.to("cuda")


def named(x, backend="rocm"):
    return x.to("cuda"), backend
