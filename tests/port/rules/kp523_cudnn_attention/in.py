import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def attend(q, k, v):
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        first = F.scaled_dot_product_attention(q, k, v)
    with sdpa_kernel([torch.nn.attention.SDPBackend.CUDNN_ATTENTION]):
        second = F.scaled_dot_product_attention(q, k, v)
    with sdpa_kernel(backends=[SDPBackend.FLASH_ATTENTION]):
        return first + second + F.scaled_dot_product_attention(q, k, v)
