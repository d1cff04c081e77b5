import torch
from packaging.version import Version

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

CUDA = torch.version.cuda.split(".")
flags = []
if not IS_ROCM and Version(torch.version.cuda) >= Version("11.8"):
    flags.append("--ptxas-options=-v")


def is_new():
    assert IS_ROCM or float(torch.version.cuda[:4]) > 11.0, "CUDA is too old"
    return Version(torch.version.cuda) >= Version("12.0")
