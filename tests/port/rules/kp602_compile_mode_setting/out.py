import argparse

import torch

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None


def build(model, mode="reduce-overhead"):
    return torch.compile(model, mode={"reduce-overhead": "default", "max-autotune": "default"}.get(mode, mode) if IS_ROCM else mode)


def from_arguments(model):
    parser = argparse.ArgumentParser()
    parser.add_argument("--compile-mode", default="max-autotune")
    args = parser.parse_args()
    return torch.compile(model, fullgraph=True, mode={"reduce-overhead": "default", "max-autotune": "default"}.get(args.compile_mode, args.compile_mode) if IS_ROCM else args.compile_mode)


def from_settings(model, settings):
    return torch.compile(model, mode=settings["inductor_mode"])
