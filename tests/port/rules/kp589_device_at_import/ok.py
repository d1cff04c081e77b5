from functools import cache

import torch

NAMES = ["gfx942"]
ask = lambda: torch.cuda.get_device_name()  # noqa: E731


@cache
def arch():
    return torch.cuda.get_device_properties(0).gcnArchName


def later():
    def inner():
        return torch.cuda.get_device_name()

    return inner


LATER = later
HOOK = lambda: torch.cuda.current_device()
