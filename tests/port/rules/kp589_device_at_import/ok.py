from functools import cache

import torch

NAMES = ["gfx942"]
ask = lambda: torch.cuda.get_device_name()  # noqa: E731


@cache
def arch():
    return torch.cuda.get_device_properties(0).gcnArchName
