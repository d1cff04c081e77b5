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


def capability_is_at_least(major, minor):
    return torch.cuda.get_device_capability() >= (major, minor)


def bf16():
    return capability_is_at_least(8, 0)


def compute_name():
    major, minor = torch.cuda.get_device_capability()
    return f"sm{major}{minor}"


def is_turing():
    return compute_name() == "sm75"


def has_rocm_capability(major, minor):
    on_rocm = torch.version.hip is not None
    return torch.cuda.is_available() and on_rocm and torch.cuda.get_device_capability() >= (major, minor)


def is_mi300():
    return has_rocm_capability(9, 4) or (torch.version.hip is not None and torch.cuda.get_device_capability() == (9, 4))


def has_cuda_capability(major, minor):
    return torch.version.hip is None and torch.cuda.get_device_capability() >= (major, minor)


def fp8():
    return has_cuda_capability(8, 9) or has_rocm_capability(9, 4)
