import torch
from packaging.version import Version

CUDA = torch.version.cuda.split(".")
flags = []
if Version(torch.version.cuda) >= Version("11.8"):
    flags.append("--ptxas-options=-v")


def is_new():
    assert float(torch.version.cuda[:4]) > 11.0, "CUDA is too old"
    return Version(torch.version.cuda) >= Version("12.0")
