import os

import torch

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:False"
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"
if torch.version.hip is None:
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
