import argparse

import torch


def build(model, mode="reduce-overhead"):
    return torch.compile(model, mode=mode)


def from_arguments(model):
    parser = argparse.ArgumentParser()
    parser.add_argument("--compile-mode", default="max-autotune")
    args = parser.parse_args()
    return torch.compile(model, fullgraph=True, mode=args.compile_mode)


def from_settings(model, settings):
    return torch.compile(model, mode=settings["inductor_mode"])
