import torch
from torch.utils.cpp_extension import CUDAExtension, load

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

first = CUDAExtension("a", ["a.cu"], libraries=["hipblas", "m"] if IS_ROCM else ["cublas", "cudart", "m"])
second = load("b", ["b.cu"], extra_ldflags=["-lhiprtc"] if IS_ROCM else ["-lcuda", "-lnvrtc"])
third = CUDAExtension("c", ["c.cu"], libraries=["cudnn"])
