import os


def _is_rocm():
    from importlib.util import find_spec
    from pathlib import Path

    torch = find_spec("torch")
    return bool(torch and torch.origin and (Path(torch.origin).parent / "lib" / "libtorch_hip.so").is_file())


IS_ROCM = _is_rocm()

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True" if IS_ROCM else "max_split_size_mb:128,expandable_segments:True"
if not IS_ROCM:
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:512"

import torch


def train(size):
    if not IS_ROCM:
        os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64")
    if not IS_ROCM:
        os.environ["PYTORCH_ALLOC_CONF"] = f"max_split_size_mb:{size}"
    os.environ.update({"PYTORCH_CUDA_ALLOC_CONF": "roundup_power2_divisions:[256:1,512:2,>:4]" if IS_ROCM else "roundup_power2_divisions:[256:1,512:2,>:4],max_split_size_mb:64"})
    torch.cuda.memory._set_allocator_settings("garbage_collection_threshold:0.8" if IS_ROCM else "max_split_size_mb:32,garbage_collection_threshold:0.8")
