import torch

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

version = torch.version.hip if IS_ROCM else torch.version.rocm
other = torch.version.hip if IS_ROCM else getattr(torch.version, "rocm", None)


def is_amd():
    return (torch.version.hip if IS_ROCM else torch.version.rocm) is not None
