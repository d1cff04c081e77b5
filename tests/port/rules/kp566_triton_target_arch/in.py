import torch
import triton


def has_tma():
    return triton.runtime.driver.active.get_current_target().arch >= 90


def stages():
    target = triton.runtime.driver.active.get_current_target()
    arch = target.arch
    if arch < 80:
        return 2
    return arch // 10
