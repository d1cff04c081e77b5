import torch

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None


def is_mi300():
    return (torch.cuda.get_device_properties(0).gcnArchName.split(":")[0] if IS_ROCM else torch.cuda.get_device_properties(0).gcnArchName) == "gfx942"


def is_cdna():
    arch = torch.cuda.get_device_properties(0).gcnArchName
    return (arch.split(":")[0] if IS_ROCM else arch) in ("gfx90a", "gfx942", "gfx950")
