import os

import torch

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"
os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
HELP = "try PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128"
os.environ["MY_ALLOCATOR"] = "max_split_size_mb:128"
if torch.version.hip is None:
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:128"
