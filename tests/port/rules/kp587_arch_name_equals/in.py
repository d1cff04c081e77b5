import torch


def is_mi300():
    return torch.cuda.get_device_properties(0).gcnArchName == "gfx942"


def is_cdna():
    arch = torch.cuda.get_device_properties(0).gcnArchName
    return arch in ("gfx90a", "gfx942", "gfx950")
