"""flash_attn.bert_padding in plain PyTorch, for where the flash_attn package is not installed.

Written by `kpt port`; imports nothing of it, and is imported on ROCm only. `unpad_input` gives back five values, as
flash-attn does since 2.7; `unpad_input_of_four` the first four, as it did before.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional


def index_first_axis(x: Any, indices: Any) -> Any:
    """The rows of x that the indices name."""
    return x[indices]


def index_put_first_axis(values: Any, indices: Any, first_axis_dim: int) -> Any:
    """Zeros with the values at the indices."""
    out = torch.zeros(first_axis_dim, *values.shape[1:], device=values.device, dtype=values.dtype)
    return out.index_put((indices,), values)


def unpad_input(hidden_states: Any, attention_mask: Any, unused_mask: Any = None) -> Any:
    """The tokens that the mask keeps, end to end; their indices, the sequences' ends, the longest, the used lengths."""
    mask = attention_mask if unused_mask is None else attention_mask + unused_mask
    lengths = mask.sum(dim=-1, dtype=torch.int32)
    used = attention_mask.sum(dim=-1, dtype=torch.int32)
    indices = torch.nonzero(mask.flatten(), as_tuple=False).flatten()
    ends = functional.pad(torch.cumsum(lengths, dim=0, dtype=torch.int32), (1, 0))
    return hidden_states.flatten(0, 1)[indices], indices, ends, int(lengths.max()), used


def unpad_input_of_four(hidden_states: Any, attention_mask: Any) -> Any:
    """`unpad_input` as it was before flash-attn 2.7."""
    return unpad_input(hidden_states, attention_mask)[:4]


def pad_input(hidden_states: Any, indices: Any, batch: int, seqlen: int) -> Any:
    """The tokens back in (batch, seqlen, ...), zeros where there are none."""
    return index_put_first_axis(hidden_states, indices, batch * seqlen).unflatten(0, (batch, seqlen))
