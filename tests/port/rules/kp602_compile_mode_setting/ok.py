import re

import torch

IS_ROCM = torch.version.hip is not None
SAFE = "default"


def build(model, settings):
    plain = torch.compile(model, mode=SAFE)
    literal = torch.compile(model, mode="reduce-overhead")
    gated = torch.compile(model, mode=settings.mode) if not IS_ROCM else torch.compile(model)
    return plain, literal, gated, re.compile("x")
