import torch


def is_mi300():
    return torch.cuda.get_device_properties(0).gcnArchName == "gfx942"


def is_cdna():
    arch = torch.cuda.get_device_properties(0).gcnArchName
    return arch in ("gfx90a", "gfx942", "gfx950")


def arch_of(index):
    return torch.cuda.get_device_properties(index).gcnArchName


def reversed_and_wrapped():
    return "gfx942" == torch.cuda.get_device_properties(0).gcnArchName or arch_of(0) != "gfx90a"
