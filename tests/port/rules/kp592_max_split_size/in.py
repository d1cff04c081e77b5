import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:128,expandable_segments:True"
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:512"

import torch


def train(size):
    os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64")
    os.environ["PYTORCH_ALLOC_CONF"] = f"max_split_size_mb:{size}"
    os.environ.update({"PYTORCH_CUDA_ALLOC_CONF": "roundup_power2_divisions:[256:1,512:2,>:4],max_split_size_mb:64"})
    torch.cuda.memory._set_allocator_settings("max_split_size_mb:32,garbage_collection_threshold:0.8")
