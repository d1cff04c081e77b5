"""What looks alike and is fine: other modes, other functions, strings, code behind a gate."""

import re

import torch

IS_ROCM = torch.version.hip is not None

NOTE = 'torch.compile(mode="reduce-overhead") is not used here'


def build(model):
    plain = torch.compile(model)
    tuned = torch.compile(model, mode="max-autotune-no-cudagraphs")
    gated = torch.compile(model, mode="default" if IS_ROCM else "reduce-overhead")
    pattern = re.compile("reduce-overhead")
    return plain, tuned, gated, pattern


def local(compile):
    return compile("x", mode="reduce-overhead")
