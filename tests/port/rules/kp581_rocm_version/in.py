import torch

version = torch.version.rocm
other = getattr(torch.version, "rocm", None)


def is_amd():
    return torch.version.rocm is not None
