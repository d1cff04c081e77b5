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


def has_capability(major, minor=0):
    return torch.cuda.is_available() and torch.cuda.get_device_capability() >= (major, minor)


def choose():
    if has_capability(9, 0):
        return "hopper"
    return "fp8" if has_capability(8, minor=9) else "bf16" if has_capability(8) else "fp16"


def get_sm():
    if not torch.cuda.is_available():
        return 0
    major, minor = torch.cuda.get_device_capability()
    return major * 10 + minor


def by_number():
    return get_sm() >= 90 or 100 <= get_sm() < 120


def get_arch():
    major, minor = torch.cuda.get_device_capability()
    return f"sm{major}{minor}"


def by_name():
    arch = get_arch()
    if arch in {"sm80", "sm86"}:
        return "ampere"
    return "hopper" if arch == "sm90" else "other"


class Layer:
    def __init__(self):
        self.props = torch.cuda.get_device_properties(0)
        self.is_hopper = self.props.major == 9
        self.command = f"-arch=sm_{get_sm()}"


def has_cuda_capability(major, minor):
    return (
        torch.cuda.is_available()
        and torch.version.hip is None
        and torch.cuda.get_device_capability() >= (major, minor)
    )


def swap_linear_layers():
    if has_cuda_capability(8, 9):
        return "fp8"
    return "hopper" if has_cuda_capability(9, 0) else "bf16"
