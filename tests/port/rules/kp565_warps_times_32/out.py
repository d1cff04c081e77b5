import torch
import triton

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

BLOCK = 32 * triton.num_warps


def threads(num_warps, meta):
    total = num_warps * (torch.cuda.get_device_properties("cuda").warp_size if IS_ROCM else 32)
    return total + (torch.cuda.get_device_properties("cuda").warp_size if IS_ROCM else 32) * meta.num_warps
