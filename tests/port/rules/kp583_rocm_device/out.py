import torch

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

device = torch.device("cuda" if IS_ROCM else "rocm")
first = torch.zeros(2, device="cuda:0" if IS_ROCM else "hip:0")


def move(model):
    return model.to("cuda" if IS_ROCM else "hip"), model.to(device="cuda:1" if IS_ROCM else "rocm:1")


def default(x, device="cuda" if IS_ROCM else "hip"):
    return x.to(device)


def by_variable(x, wanted):
    kind = ("cuda" if IS_ROCM else "rocm") if wanted else "cpu"
    return default(x, torch.device(kind))
