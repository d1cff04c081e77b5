import os

print(os.environ.get("TORCH_CUDA_ARCH_LIST"))
os.environ["TORCH_CUDA_ARCH_LIST"] = ""
NOTE = "set TORCH_CUDA_ARCH_LIST"
