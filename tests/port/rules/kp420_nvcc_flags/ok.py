import torch
from torch.utils.cpp_extension import CUDAExtension

HIP_BUILD = bool(torch.version.hip)

plain = CUDAExtension("a", ["a.cu"], extra_compile_args={"cxx": ["-O3"], "nvcc": ["-O3", "-std=c++17", "-DFAST"]})
if HIP_BUILD:
    flags = {"nvcc": ["-O3", "--offload-arch=gfx942"]}
else:
    flags = {"nvcc": ["-O3", "--use_fast_math"]}
tools = {"nvcc": "compiler"}


def extensions():
    use_cuda = torch.version.cuda and CUDA_HOME is not None
    nvcc_args, rocm_args = ["-O3", "--use_fast_math"], ["-O3"]
    both = {"nvcc": nvcc_args if use_cuda else rocm_args}
    if use_cuda:
        both = {"nvcc": ["--use_fast_math"]}
    return both


def without_errors(flags):
    unwanted = {"-Xcompiler=-Werror", "--Werror", "all-warnings"}
    return [flag for flag in flags if flag not in unwanted and flag != "-lineinfo"]


def gated_by_hand(is_hip=torch.version.hip is not None):
    flags = ["-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__"]
    return CUDAExtension("b", ["b.cu"], extra_compile_args={"nvcc": flags})


filtered = CUDAExtension("c", ["c.cu"], extra_compile_args={"nvcc": without_errors(["-O3"])})
