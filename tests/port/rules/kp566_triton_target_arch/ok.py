import torch
import triton


def is_hip():
    return triton.runtime.driver.active.get_current_target().backend == "hip"


def stages(version):
    target = triton.runtime.driver.active.get_current_target()
    if target.arch == "gfx942" or version.arch >= 90:
        return 2
    return 4 if torch.version.hip is None and target.arch >= 90 else 2
