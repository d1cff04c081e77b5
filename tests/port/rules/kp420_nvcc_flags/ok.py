import torch
from torch.utils.cpp_extension import CUDAExtension

HIP_BUILD = bool(torch.version.hip)

plain = CUDAExtension("a", ["a.cu"], extra_compile_args={"cxx": ["-O3"], "nvcc": ["-O3", "-std=c++17", "-DFAST"]})
if HIP_BUILD:
    flags = {"nvcc": ["-O3", "--offload-arch=gfx942"]}
else:
    flags = {"nvcc": ["-O3", "--use_fast_math"]}
tools = {"nvcc": "compiler"}
