from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

# -std=c++14 was needed once.
NEWER = {"-std=c++14": "-std=c++17"}
setup(
    name="ops",
    ext_modules=[CUDAExtension("ops._C", ["ops.cpp", "ops.cu"], extra_compile_args={"cxx": ["-O3", "-std=c++17"]})],
    cmdclass={"build_ext": BuildExtension},
)
