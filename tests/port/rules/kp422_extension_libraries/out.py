import torch
from torch.utils.cpp_extension import CUDAExtension, load

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

first = CUDAExtension("a", ["a.cu"], libraries=["hipblas", "m"] if IS_ROCM else ["cublas", "cudart", "m"])
second = load("b", ["b.cu"], extra_ldflags=["-lhiprtc"] if IS_ROCM else ["-lcuda", "-lnvrtc"])
third = CUDAExtension("c", ["c.cu"], libraries=["cudnn"])

libs = []
if with_nccl:
    libs.append('rccl' if IS_ROCM else 'nccl')
if not IS_ROCM:
    libs.append("cudart")
libs += (["hipblas", "z"] if IS_ROCM else ["cublas", "z"])
libs.extend(["hipsparse"] if IS_ROCM else ["cusparse"])
CUDAExtension("by_name", ["by_name.cu"], libraries=["m"] + libs)
