import os
import sys

import torch
from torch.utils import cpp_extension
from torch.utils.cpp_extension import CUDA_HOME, CppExtension, CUDAExtension

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

if not IS_ROCM and CUDA_HOME is None:
    raise RuntimeError("CUDA_HOME is not set")

WITH_CUDA = torch.cuda.is_available() and (IS_ROCM or CUDA_HOME is not None)
extension = CUDAExtension if IS_ROCM or CUDA_HOME else CppExtension
assert IS_ROCM or CUDA_HOME is not None, "a CUDA toolkit is needed"


def modules():
    extensions = []
    if torch.cuda.is_available() and (IS_ROCM or CUDA_HOME is not None):
        extensions.append(CUDAExtension("a", ["a.cu"]))
    return extensions


def forced():
    if (torch.cuda.is_available() and (IS_ROCM or CUDA_HOME is not None)) or os.getenv("FORCE_CUDA", "0") == "1":
        device = "cuda"
    else:
        device = "cpu"
    return device


def with_folder():
    if (IS_ROCM or (CUDA_HOME is not None and os.path.isdir(CUDA_HOME))):
        return [CUDAExtension("b", ["b.cu"])]
    return []


def has_compiler():
    return IS_ROCM or cpp_extension.CUDA_HOME is not None


def early():
    if not (IS_ROCM or CUDA_HOME):
        return None
    return "cuda"


def folders():
    if sys.platform == "linux" and (not IS_ROCM and CUDA_HOME is None):
        sys.exit("no CUDA")
    return os.path.join(CUDA_HOME, "include"), os.environ["CUDA_HOME"], CUDA_HOME + "/lib64"


def needs_the_folder():
    if CUDA_HOME is not None:
        return CUDAExtension("c", ["c.cu"], include_dirs=[os.path.join(CUDA_HOME, "samples")])
    return None


def version_of(folder):
    return folder, 12


if CUDA_HOME is not None:
    _, bare_metal_version = version_of(CUDA_HOME)
flags = []
if not IS_ROCM and (bare_metal_version >= 11 and sys.platform == "linux"):
    flags.append("-gencode")
