import torch

IS_NVIDIA = torch.version.cuda is not None


def can_use_bf16():
    return torch.cuda.get_device_capability()[0] >= 8


def is_old():
    major, _ = torch.cuda.get_device_capability()
    return major < 8 or major == 7


def is_ampere():
    return torch.cuda.get_device_capability() == (8, 0)


def is_hopper():
    return IS_NVIDIA and torch.cuda.get_device_capability()[0] == 9


def parse(version):
    return version.major >= 9
