import glob

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

headers = glob.glob("csrc/*.h")

setup(
    name="ops",
    ext_modules=[CUDAExtension("ops._C", ["csrc/ops.cpp", *glob.glob("csrc/*.cu")])],
    headers=headers,
    cmdclass={"build_ext": BuildExtension},
)
