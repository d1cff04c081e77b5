import torch
import flash_attn_2_cuda
from flash_attn.layers.rotary import RotaryEmbedding
from flash_attn.ops.fused_dense import FusedDense
from flash_attn.ops.triton.layer_norm import RMSNorm
from flash_attn.cute import flash_attn_func
from flash_attn.losses.cross_entropy import CrossEntropyLoss
