import os
import warnings

from torch.utils.cpp_extension import CUDA_HOME

home = CUDA_HOME or "/usr/local/cuda"


def check():
    if CUDA_HOME is None:
        warnings.warn("no CUDA")
    if CUDA_HOME is not None:
        print(os.path.join(CUDA_HOME, "bin", "nvcc"))
    return os.environ.get("CUDA_HOME")


def guessed():
    global CUDA_HOME
    if CUDA_HOME is None:
        CUDA_HOME = "/usr/local/cuda"


def given(find):
    if "CUDA_HOME" not in os.environ:
        os.environ["CUDA_HOME"] = find()
    return os.environ["CUDA_HOME"] + "/include"


def tell(log):
    log.info("%s", CUDA_HOME)
    print("CUDA_HOME = {}".format(CUDA_HOME), str(CUDA_HOME))
