import os

import torch
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension, load

cc_flag = []
cc_flag.append("-gencode")
cc_flag.append("arch=compute_80,code=sm_80")

inline = load(name="inline", sources=["a.cu"], extra_cuda_cflags=["-O3", "--use_fast_math", "-Xptxas -O3", "-lineinfo"])
exact = load(name="exact", sources=["b.cu"], extra_cuda_cflags=["-O3", "--fmad", "false"])

setup(
    name="ext",
    ext_modules=[
        CUDAExtension(
            "ext._C",
            ["a.cu"],
            extra_compile_args={
                "cxx": ["-O3"],
                "nvcc": [
                    "-O3",
                    "-U__CUDA_NO_HALF_OPERATORS__",
                    "--expt-relaxed-constexpr",
                    "-Xcompiler", "-fPIC,-Wall",
                    "--threads", "4",
                ],
            },
        ),
        CUDAExtension("ext._D", ["b.cu"], extra_compile_args={"nvcc": ["-O3"] + cc_flag}),
    ],
    cmdclass={"build_ext": BuildExtension},
)

by_keyword = CUDAExtension(
    "by_keyword",
    ["k.cu"],
    extra_compile_args=dict(nvcc=["-O3", "--ptxas-options=-v", "--use_fast_math"], cxx=["-O3"]),
)
