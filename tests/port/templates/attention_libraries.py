"""aiter and flash_attn as small modules that register real operators, with the libraries' schemas, on the CPU."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, pairwise
from typing import Any

import torch

# The names and the order are the libraries' own; see aiter/ops/mha.py and flash_attn/flash_attn_interface.py.
SCHEMAS = {
    "aiter": {
        "mha_fwd": "(Tensor q, Tensor k, Tensor v, float dropout_p, float softmax_scale, bool is_causal, "
        "SymInt window_size_left, SymInt window_size_right, SymInt sink_size, bool return_softmax_lse, "
        "bool return_dropout_randval, Tensor? out=None, Tensor? bias=None, Tensor? alibi_slopes=None) "
        "-> (Tensor, Tensor, Tensor, Tensor)",
        "mha_bwd": "(Tensor dout, Tensor q, Tensor k, Tensor v, Tensor out, Tensor softmax_lse, float dropout_p, "
        "float softmax_scale, bool is_causal, SymInt window_size_left, SymInt window_size_right, bool deterministic, "
        "Tensor? dq=None, Tensor? dk=None, Tensor? dv=None, Tensor? alibi_slopes=None, "
        "Tensor? rng_state=None) -> Tensor",
        "mha_varlen_fwd": "(Tensor q, Tensor k, Tensor v, Tensor cu_seqlens_q, Tensor? cu_seqlens_k, "
        "SymInt max_seqlen_q, SymInt max_seqlen_k, SymInt min_seqlen_q, float dropout_p, float softmax_scale, "
        "float logits_soft_cap, bool zero_tensors, bool is_causal, SymInt window_size_left, SymInt window_size_right, "
        "bool return_softmax_lse, bool return_dropout_randval, Tensor? block_table=None, Tensor? alibi_slopes=None) "
        "-> (Tensor, Tensor, Tensor, Tensor)",
    },
    "flash_attn": {
        "_flash_attn_forward": "(Tensor q, Tensor k, Tensor v, float dropout_p, float softmax_scale, bool causal, "
        "SymInt window_size_left, SymInt window_size_right, float softcap, Tensor? alibi_slopes, bool return_softmax) "
        "-> (Tensor, Tensor, Tensor, Tensor)",
        "_flash_attn_backward": "(Tensor dout, Tensor q, Tensor k, Tensor v, Tensor out, Tensor softmax_lse, "
        "Tensor(a!)? dq, Tensor(b!)? dk, Tensor(c!)? dv, float dropout_p, float softmax_scale, bool causal, "
        "SymInt window_size_left, SymInt window_size_right, float softcap, Tensor? alibi_slopes, bool deterministic, "
        "Tensor? rng_state=None) -> Tensor",
    },
}


def attention(q: Any, k: Any, v: Any, scale: float, causal: bool, softcap: float = 0.0) -> tuple[Any, Any]:
    """What the kernels compute: output and log-sum-exp, causal aligned at the bottom right, in fp32."""
    share = q.shape[2] // k.shape[2]
    keys, values = (item.float().repeat_interleave(share, 2) for item in (k, v))
    scores = torch.einsum("bqhd,bkhd->bhqk", q.float(), keys) * scale
    scores = softcap * torch.tanh(scores / softcap) if softcap else scores
    if causal:
        hidden = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).tril(k.shape[1] - q.shape[1]).logical_not()
        scores = scores.masked_fill(hidden, float("-inf"))
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), values).to(q.dtype).contiguous(), scores.logsumexp(-1)


def forward(q: Any, k: Any, v: Any, **asked: Any) -> Any:
    is_causal = bool(asked.get("causal", asked.get("is_causal")))
    softcap = asked.get("softcap", asked.get("logits_soft_cap", 0.0))
    if "cu_seqlens_q" in asked:
        ends, parts = asked["cu_seqlens_q"].tolist(), []
        for start, end in pairwise(ends):
            one_q, one_k, one_v = (item[None, start:end] for item in (q, k, v))
            parts.append(attention(one_q, one_k, one_v, asked["softmax_scale"], is_causal, softcap))
        out, lse = torch.cat([part[0][0] for part in parts]), torch.cat([part[1][0] for part in parts], 1)
    else:
        out, lse = attention(q, k, v, asked["softmax_scale"], is_causal, softcap)
    return out, lse, q.new_empty(0), torch.zeros(2, dtype=torch.int64)


def forward_shapes(q: Any, **_: Any) -> Any:
    lse = (q.shape[1], q.shape[0]) if q.dim() == 3 else (q.shape[0], q.shape[2], q.shape[1])
    return torch.empty_like(q), q.new_empty(lse, dtype=torch.float32), q.new_empty(0), q.new_empty(2, dtype=torch.int64)


def backward(
    dout: Any, q: Any, k: Any, v: Any, out: Any, softmax_lse: Any, dq: Any, dk: Any, dv: Any, **asked: Any
) -> Any:
    with torch.enable_grad():
        leaves = [item.detach().float().requires_grad_() for item in (q, k, v)]
        is_causal = bool(asked.get("causal", asked.get("is_causal")))
        again, _ = attention(
            leaves[0], leaves[1], leaves[2], asked["softmax_scale"], is_causal, asked.get("softcap", 0.0)
        )
        for buffer, gradient in zip((dq, dk, dv), torch.autograd.grad(again, leaves, dout.float()), strict=True):
            buffer.copy_(gradient)
    return torch.zeros_like(softmax_lse)


@contextmanager
def registered(name: str) -> Iterator[types.ModuleType]:
    """The module, and its operators in `torch.ops` until the block ends."""
    module, space = types.ModuleType(name), getattr(torch.ops, name)
    with torch.library._scoped_library(name, "FRAGMENT") as library:
        for op, schema in SCHEMAS[name].items():
            library.define(op + (all_written(schema) if name == "aiter" else schema))
            names = [one.name for one in getattr(space, op).default._schema.arguments]
            does, shapes = (forward, forward_shapes) if "fwd" in op or "forward" in op else (backward, backward_shapes)
            library.impl(op, by_name(does, names), "CPU")
            library._register_fake(op, by_name(shapes, names))
        yield module
    for op in SCHEMAS[name]:
        if op in space.__dict__:  # torch keeps what was once looked up
            delattr(space, op)


def all_written(schema: str) -> str:
    """aiter calls every tensor that goes in written."""
    numbers = count()
    taken, gives = schema.rsplit("->", 1)
    return re.sub(r"\bTensor\b", lambda _: f"Tensor(a{next(numbers)}!)", taken) + "->" + gives


def backward_shapes(softmax_lse: Any, **_: Any) -> Any:
    return torch.empty_like(softmax_lse)


def by_name(function: Callable[..., Any], names: list[str]) -> Callable[..., Any]:
    """Operators are called by position; these functions by name."""
    return lambda *values, **named: function(**dict(zip(names, values, strict=False)), **named)
