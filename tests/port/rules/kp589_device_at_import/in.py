import torch

ARCH = torch.cuda.get_device_properties(0).gcnArchName


class Limits:
    major = torch.cuda.get_device_capability()[0]


def choose(name=torch.cuda.get_device_name()):
    return name
