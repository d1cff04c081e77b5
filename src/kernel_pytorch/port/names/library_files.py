"""CUDA's shared libraries by their file names, and what ROCm has in their place."""

from __future__ import annotations

# By the part between `lib` and `.so`.
COUNTERPARTS = {
    "cuda": "libamdhip64.so", "cudart": "libamdhip64.so", "nvrtc": "libhiprtc.so", "cublas": "libhipblas.so",
    "cublasLt": "libhipblaslt.so", "cufft": "libhipfft.so", "curand": "libhiprand.so",
    "cusolver": "libhipsolver.so", "cusparse": "libhipsparse.so", "cudnn": "libMIOpen.so", "nccl": "librccl.so",
    "nvidia-ml": "libamd_smi.so", "nvToolsExt": "libroctx64.so",
}  # fmt: skip
