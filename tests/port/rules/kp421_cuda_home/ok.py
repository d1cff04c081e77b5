import os
import warnings

from torch.utils.cpp_extension import CUDA_HOME


def check():
    if CUDA_HOME is None:
        warnings.warn("no CUDA")
    if CUDA_HOME is not None:
        print(os.path.join(CUDA_HOME, "bin", "nvcc"))
    return os.environ.get("CUDA_HOME")
