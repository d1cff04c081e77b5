import torch
import triton

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None


def has_tma():
    return not IS_ROCM and triton.runtime.driver.active.get_current_target().arch >= 90


def stages():
    target = triton.runtime.driver.active.get_current_target()
    arch = target.arch
    if IS_ROCM or arch < 80:
        return 2
    return arch // 10
