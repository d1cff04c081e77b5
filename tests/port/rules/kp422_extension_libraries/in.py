import torch
from torch.utils.cpp_extension import CUDAExtension, load

first = CUDAExtension("a", ["a.cu"], libraries=["cublas", "cudart", "m"])
second = load("b", ["b.cu"], extra_ldflags=["-lcuda", "-lnvrtc"])
third = CUDAExtension("c", ["c.cu"], libraries=["cudnn"])
