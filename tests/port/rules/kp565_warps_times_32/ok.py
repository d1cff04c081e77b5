import torch
import triton

IS_ROCM = torch.version.hip is not None


def threads(num_warps, rows):
    width = torch.cuda.get_device_properties("cuda").warp_size
    return num_warps * width + rows * 32 + (num_warps * 32 if not IS_ROCM else 0)
