"""Build with --offload-arch=gfx942 on MI300."""

import os

os.environ.setdefault("PYTORCH_ROCM_ARCH", "gfx942")
os.environ["AMDGPU_TARGETS"] = "gfx90a;gfx942"
TARGET = "gfx942"
FLAGS = ["--offload-arch=gfx90a", "--offload-arch=gfx942"]
CMAKE = f"-DCMAKE_HIP_ARCHITECTURES={os.environ['PYTORCH_ROCM_ARCH']}"
SEVERAL = "-DGPU_TARGETS=gfx90a;gfx942"


def flags(arch):
    return [f"--offload-arch={arch}"]
