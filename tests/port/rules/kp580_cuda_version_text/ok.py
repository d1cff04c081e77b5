import torch
from packaging.version import Version

print("CUDA", torch.version.cuda, f"({torch.version.cuda})")
tag = "cu" if torch.version.cuda is not None else "rocm"
if torch.version.cuda is not None and Version(torch.version.cuda) >= Version("11.8"):
    tag = "cu118"
if torch.version.cuda:
    major = torch.version.cuda.split(".")[0]
cuda = torch.version.cuda
same = torch.version.cuda == "12.1"
parts = torch.__version__.split(".")
