import os
import sys

import torch
from torch.utils.cpp_extension import CUDA_HOME, CUDAExtension

if CUDA_HOME is None:
    raise RuntimeError("CUDA_HOME is not set")


def modules():
    extensions = []
    if torch.cuda.is_available() and CUDA_HOME is not None:
        extensions.append(CUDAExtension("a", ["a.cu"]))
    return extensions


def folders():
    if sys.platform == "linux" and CUDA_HOME is None:
        sys.exit("no CUDA")
    return os.path.join(CUDA_HOME, "include"), os.environ["CUDA_HOME"]
