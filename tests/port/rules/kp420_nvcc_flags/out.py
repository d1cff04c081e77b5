import os

import torch
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension, load


def _hip_flags(flags):
    """nvcc's flags in hipcc's terms. The architecture is torch's business: PYTORCH_ROCM_ARCH."""
    with_value = {"-gencode", "-Xptxas", "--ptxas-options", "--threads", "-Xcompiler"}
    # Not -ffast-math for -use_fast_math: it would also assume that there is no NaN.
    other = {
        "--use_fast_math": ["-ffp-contract=fast", "-fno-math-errno"],
        "-lineinfo": ["-gline-tables-only"],
        "--expt-relaxed-constexpr": [],
    }
    left, kept = [], []
    for flag in map(str, flags):
        # "-O3 -Xptxas -O3" in one string is three words; "-DNAME=a b" is one.
        many = " -" in flag and flag[:2] != "-D" and '"' not in flag
        left += flag.split() if many or flag.split(" ")[0] in with_value else [flag]
    while left:
        word = left.pop(0)
        name, joined, value = word.partition("=")
        if name in ("-Xcompiler",):
            value = (value if joined else left.pop(0)).strip("'\"")
            kept += value.replace(",", " ").split()
        elif name in with_value:
            left = left if joined else left[1:]
        elif word in other:
            kept += other[word]
        else:
            kept.append(word)
            if word.startswith("-U__CUDA_NO_HALF_"):
                kept.append(word.replace("__CUDA_NO_", "__HIP_NO_"))
    return kept


IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

cc_flag = []
cc_flag.append("-gencode")
cc_flag.append("arch=compute_80,code=sm_80")

inline = load(name="inline", sources=["a.cu"], extra_cuda_cflags=["-O3", "-ffp-contract=fast", "-fno-math-errno", "-gline-tables-only"] if IS_ROCM else ["-O3", "--use_fast_math", "-Xptxas -O3", "-lineinfo"])
exact = load(name="exact", sources=["b.cu"], extra_cuda_cflags=["-O3", "-ffp-contract=off"] if IS_ROCM else ["-O3", "--fmad", "false"])

setup(
    name="ext",
    ext_modules=[
        CUDAExtension(
            "ext._C",
            ["a.cu"],
            extra_compile_args={
                "cxx": ["-O3"],
                "nvcc": ["-O3", "-U__CUDA_NO_HALF_OPERATORS__", "-U__HIP_NO_HALF_OPERATORS__", "-fPIC", "-Wall"] if IS_ROCM else [
                    "-O3",
                    "-U__CUDA_NO_HALF_OPERATORS__",
                    "--expt-relaxed-constexpr",
                    "-Xcompiler", "-fPIC,-Wall",
                    "--threads", "4",
                ],
            },
        ),
        CUDAExtension("ext._D", ["b.cu"], extra_compile_args={"nvcc": _hip_flags(["-O3"] + cc_flag) if IS_ROCM else ["-O3"] + cc_flag}),
    ],
    cmdclass={"build_ext": BuildExtension},
)

by_keyword = CUDAExtension(
    "by_keyword",
    ["k.cu"],
    extra_compile_args=dict(nvcc=["-O3", "-ffp-contract=fast", "-fno-math-errno"] if IS_ROCM else ["-O3", "--ptxas-options=-v", "--use_fast_math"], cxx=["-O3"]),
)
