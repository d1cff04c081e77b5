import thunder
import torch


def setup(model, executors: list[str] | None = ("sdpa", "torchcompile", "nvfuser", "torch")):
    return thunder.jit(model, executors=executors)


def quick(model):
    return thunder.jit(model, executors=["cudnn", "nvfuser", "torch"])


class Strategy:
    def __init__(self):
        self.executors = ("nvfuser", "torch")
