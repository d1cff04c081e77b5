import torch


def is_mi300():
    arch = torch.cuda.get_device_properties(0).gcnArchName.split(":")[0]
    return arch == "gfx942"


def is_cdna3(props, target):
    return "gfx94" in props.gcnArchName or target == "gfx942"
