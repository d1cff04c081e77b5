"""Every way to get at flash-attn's functions."""

import math

import torch
from flash_attn import flash_attn_func, flash_attn_varlen_func as varlen  # noqa: E402
from flash_attn.flash_attn_interface import (
    flash_attn_qkvpacked_func,
    flash_attn_with_kvcache,
)
from flash_attn import flash_attn_interface as interface
from flash_attn_interface import flash_attn_func as flash_attn_3
from flash_attn.flash_attn_interface import _flash_attn_forward
import flash_attn as fa

try:
    from flash_attn import flash_attn_kvpacked_func
except ImportError:
    flash_attn_kvpacked_func = None


def attend(q, k, v):
    from flash_attn import flash_attn_func as inner

    return inner(q, k, v, 0.0, 1 / math.sqrt(64), True) + fa.flash_attn_func(q, k, v) + interface.flash_attn_func(q, k, v)


def together():
    import flash_attn; return flash_attn.flash_attn_func


def by_option(q, k, v, use_flash):
    if use_flash and torch.cuda.is_available():
        from flash_attn import flash_attn_func as fast

        return fast(q, k, v)
    return q
