import torch
from torch.utils.cpp_extension import CUDAExtension, load

first = CUDAExtension("a", ["a.cu"], libraries=["cublas", "cudart", "m"])
second = load("b", ["b.cu"], extra_ldflags=["-lcuda", "-lnvrtc"])
third = CUDAExtension("c", ["c.cu"], libraries=["cudnn"])

libs = []
if with_nccl:
    libs.append('nccl')
libs.append("cudart")
libs += ["cublas", "z"]
libs.extend(["cusparse"])
CUDAExtension("by_name", ["by_name.cu"], libraries=["m"] + libs)
