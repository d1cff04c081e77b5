import torch

ARCH = torch.cuda.get_device_properties(0).gcnArchName


class Limits:
    major = torch.cuda.get_device_capability()[0]


def choose(name=torch.cuda.get_device_name()):
    return name


def _arch():
    major, minor = torch.cuda.get_device_capability()
    return major * 10 + minor


ARCH = _arch()


class Config:
    name: str = torch.cuda.get_device_name()


def run(x, device=torch.cuda.current_device()):
    return x.to(device)
