import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None


def attend(q, k, v):
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH] if IS_ROCM else SDPBackend.CUDNN_ATTENTION):
        first = F.scaled_dot_product_attention(q, k, v)
    with sdpa_kernel([torch.nn.attention.SDPBackend.FLASH_ATTENTION, torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION, torch.nn.attention.SDPBackend.MATH] if IS_ROCM else [torch.nn.attention.SDPBackend.CUDNN_ATTENTION]):
        second = F.scaled_dot_product_attention(q, k, v)
    with sdpa_kernel(backends=[SDPBackend.FLASH_ATTENTION]):
        return first + second + F.scaled_dot_product_attention(q, k, v)
