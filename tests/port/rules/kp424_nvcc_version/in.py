import subprocess

from torch.utils.cpp_extension import _get_cuda_arch_flags


def nvcc_version(home):
    return subprocess.check_output([home + "/bin/nvcc", "-V"], universal_newlines=True)


subprocess.run(["nvcc", "--version"], check=True)
print(nvcc_version("/usr/local/cuda"), _get_cuda_arch_flags())
