import thunder
import torch

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None


def setup(model, executors: list[str] | None = ("sdpa", "torchcompile", "torch") if IS_ROCM else ("sdpa", "torchcompile", "nvfuser", "torch")):
    return thunder.jit(model, executors=executors)


def quick(model):
    return thunder.jit(model, executors=["torch"] if IS_ROCM else ["cudnn", "nvfuser", "torch"])


class Strategy:
    def __init__(self):
        self.executors = ("torch",) if IS_ROCM else ("nvfuser", "torch")
