import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def attend(q, k, v, chosen):
    with sdpa_kernel(SDPBackend.MATH):
        first = F.scaled_dot_product_attention(q, k, v)
    with sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        second = F.scaled_dot_product_attention(q, k, v)
    with sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION]):
        second = F.scaled_dot_product_attention(q, k, v)
    with sdpa_kernel(chosen):
        return first + second + F.scaled_dot_product_attention(q, k, v)
