import torch
from flash_attn import flash_attn_func

try:
    from flash_attn.layers.rotary import RotaryEmbedding
except ImportError:
    RotaryEmbedding = None

if torch.version.hip is None:
    import flash_attn_2_cuda
