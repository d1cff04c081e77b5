import glob
import os.path as osp
from pathlib import Path

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

main_files = glob.glob(osp.join("csrc", "*.cpp"))
every = glob.glob("csrc/**/*.cc", recursive=True)
more = [str(path) for path in Path("csrc").rglob("*.cpp")]
kernels = glob.glob(osp.join("csrc", "cuda", "*.cu"))

setup(
    name="ops",
    ext_modules=[CUDAExtension("ops._C", main_files + every + more + kernels)],
    cmdclass={"build_ext": BuildExtension},
)
