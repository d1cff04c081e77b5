import os
import subprocess

os.environ["PYTORCH_ROCM_ARCH"] = "gfx942"
FLAGS = ["-O3", "--offload-arch=gfx90a"]


def build(folder):
    subprocess.run(["cmake", "-S", folder, "-DCMAKE_HIP_ARCHITECTURES=gfx942:xnack-"], check=True)
    subprocess.run("hipcc -O3 --offload-arch=gfx1100 kernel.hip", shell=True, check=True)
