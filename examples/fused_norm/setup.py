from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="fused-norm",
    version="0.1",
    packages=["fused_norm"],
    install_requires=["torch==2.6.0", "numpy", "einops>=0.7", "nvidia-ml-py"],
    ext_modules=[
        CUDAExtension(
            "fused_norm._C",
            ["csrc/binding.cpp", "csrc/rmsnorm.cu"],
            extra_compile_args={
                "cxx": ["-O3"],
                "nvcc": ["-O3", "--use_fast_math", "-gencode", "arch=compute_90,code=sm_90", "-Xptxas", "-v"],
            },
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
