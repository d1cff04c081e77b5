import thunder
import torch

IS_ROCM = torch.version.hip is not None


def setup(model, executors=("sdpa", "torchcompile", "torch")):
    return thunder.jit(model, executors=executors)


def quick(model):
    return thunder.jit(model, executors=["torch"] if IS_ROCM else ["nvfuser", "torch"])


NAMES = ("nvfuser", "torch")
