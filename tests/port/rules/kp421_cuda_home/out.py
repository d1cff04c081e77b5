import os
import sys

import torch
from torch.utils.cpp_extension import CUDA_HOME, CUDAExtension

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

if not IS_ROCM and CUDA_HOME is None:
    raise RuntimeError("CUDA_HOME is not set")


def modules():
    extensions = []
    if torch.cuda.is_available() and (IS_ROCM or CUDA_HOME is not None):
        extensions.append(CUDAExtension("a", ["a.cu"]))
    return extensions


def folders():
    if sys.platform == "linux" and (not IS_ROCM and CUDA_HOME is None):
        sys.exit("no CUDA")
    return os.path.join(CUDA_HOME, "include"), os.environ["CUDA_HOME"]
