import os

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

cxx_flags = ["-O3", "-std=c++14"]
if "-std=c++11" in os.environ.get("CXXFLAGS", ""):
    cxx_flags.append('-std=c++11')

setup(
    name="ops",
    ext_modules=[
        CUDAExtension(
            "ops._C",
            ["ops.cpp", "ops.cu"],
            extra_compile_args={"cxx": cxx_flags, "nvcc": ["-O3", "-std=c++14"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
