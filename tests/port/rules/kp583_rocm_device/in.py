import torch

device = torch.device("rocm")
first = torch.zeros(2, device="hip:0")


def move(model):
    return model.to("hip"), model.to(device="rocm:1")
