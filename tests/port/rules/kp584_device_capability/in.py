import torch


def has_hopper():
    return torch.cuda.get_device_capability() >= (9, 0)


def has_fp8(device):
    capability = torch.cuda.get_device_capability(device)
    return capability >= (8, 9)


def attention():
    major, minor = torch.cuda.get_device_capability()
    if major in (10, 12):
        return "blackwell"
    if major < 9:
        raise RuntimeError("Hopper or later")
    sm = major * 10 + minor
    return f"sm_{sm}"


def is_blackwell(index):
    return torch.cuda.get_device_properties(index).major == 10
