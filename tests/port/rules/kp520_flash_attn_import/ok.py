"""What looks alike and is fine."""

from typing import TYPE_CHECKING

import torch
from flash_attn.bert_padding import pad_input
from mine import flash_attn_func
from transformers.utils import is_flash_attn_2_available

IS_ROCM = torch.version.hip is not None

if TYPE_CHECKING:
    from flash_attn import flash_attn_qkvpacked_func

if is_flash_attn_2_available():
    from flash_attn import flash_attn_varlen_func

if IS_ROCM:
    from ._rocm_attention import flash_attn_with_kvcache
else:
    from flash_attn import flash_attn_with_kvcache

try:
    import flash_attn

    HAS_FLASH = True
except ImportError:
    HAS_FLASH = False

NOTE = "from flash_attn import flash_attn_func"

FAST = HAS_FLASH and not IS_ROCM


def by_what_is_there(q, k, v):
    if FAST:
        from flash_attn import flash_attn_func as fast

        return fast(q, k, v)
    return q
