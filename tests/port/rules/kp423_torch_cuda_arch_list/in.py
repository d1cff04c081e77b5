import os

os.environ["TORCH_CUDA_ARCH_LIST"] = "8.0;9.0"
