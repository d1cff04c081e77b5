import subprocess

import torch
from torch.utils.cpp_extension import CUDA_HOME


def nvcc_version(home):
    return subprocess.check_output([home + "/bin/nvcc", "-V"], universal_newlines=True)


if CUDA_HOME is not None:
    print(nvcc_version(CUDA_HOME))
if torch.version.hip is None:
    subprocess.run(["nvcc", "--version"], check=True)
subprocess.run(["gcc", "--version"], check=True)
