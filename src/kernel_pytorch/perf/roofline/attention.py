"""Attention: two products over the pairs a mask allows; the softmax between them is not counted.

A causal mask allows exactly the pairs on and below the diagonal, so a square causal attention has S (S + 1) / 2 pairs,
not S x S / 2. Grouped queries share keys and values: FLOPs follow the query heads, bytes the key heads.
"""

from __future__ import annotations

from kernel_pytorch.perf.roofline.forms import Attended
from kernel_pytorch.perf.roofline.shapes import Tensor, argument, flag, tensor
from kernel_pytorch.perf.roofline.work import Model, Work
from kernel_pytorch.perf.trace.recording import Signature


def causal_pairs(queries: int, keys: int, *, bottom_right: bool = False) -> int:
    """(query, key) pairs a causal mask allows; torch's `is_causal` is aligned top-left, flash-attn's bottom-right."""
    shift = keys - queries if bottom_right else 0
    # Row i sees i + 1 + shift keys, held between 0 and all of them.
    first = max(0, -shift)  # rows before it see nothing
    full = max(first, min(queries, keys - shift))  # rows from here on see all keys
    growing = full - first
    return growing * (first + 1 + shift) + growing * (growing - 1) // 2 + (queries - full) * keys


def _attention(q: Tensor, k: Tensor, v: Tensor, axes: tuple[int, int], causal: str, moved_extra: int = 0) -> Work:
    """axes: where heads and sequence stand. causal: "", "top-left" or "bottom-right"."""
    heads_axis, sequence_axis = axes
    batch, heads = q.shape[0], q.shape[heads_axis]
    queries, keys = q.shape[sequence_axis], k.shape[sequence_axis]
    pairs = causal_pairs(queries, keys, bottom_right=causal == "bottom-right") if causal else queries * keys
    flops = 2 * batch * heads * pairs * (q.shape[-1] + v.shape[-1])
    output = batch * heads * queries * v.shape[-1] * q.element_bytes
    stored = sum(one.count * one.element_bytes for one in (q, k, v))
    form = Attended(batch, heads, queries, keys, q.shape[-1])
    return Work(flops, stored + output + moved_extra, q.arithmetic, matrix=True, form=form)


def _qkv(signature: Signature, first: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    found = [tensor(signature, first + i) for i in range(3)]
    q, k, v = found
    if q is None or k is None or v is None or len(q.shape) != 4:
        raise ValueError("not (B, H, S, D)")
    return q, k, v


def _log_sum(q: Tensor, axes: tuple[int, int]) -> int:
    return 4 * q.shape[0] * q.shape[axes[0]] * q.shape[axes[1]]


def _bias_bytes(signature: Signature, position: int) -> int:
    bias = tensor(signature, position)
    return bias.bytes if bias is not None else 0


HEADS_FIRST, SEQUENCE_FIRST = (1, 2), (2, 1)


def sdpa(signature: Signature) -> Work:
    """scaled_dot_product_attention: q, k, v, mask, dropout, is_causal, ..."""
    q, k, v = _qkv(signature)
    causal = "top-left" if flag(signature, 5) else ""
    return _attention(q, k, v, HEADS_FIRST, causal, _bias_bytes(signature, 3))


def sdpa_flash(signature: Signature) -> Work:
    """_scaled_dot_product_flash_attention: q, k, v, dropout, is_causal, ...; it also writes the log-sum-exp."""
    q, k, v = _qkv(signature)
    causal = "top-left" if flag(signature, 4) else ""
    return _attention(q, k, v, HEADS_FIRST, causal, _log_sum(q, HEADS_FIRST))


def sdpa_with_bias(signature: Signature) -> Work:
    """_scaled_dot_product_{efficient,cudnn,fused}_attention: q, k, v, bias, log-sum-exp?, dropout, is_causal, ..."""
    q, k, v = _qkv(signature)
    extra = _bias_bytes(signature, 3) + (_log_sum(q, HEADS_FIRST) if flag(signature, 4) else 0)
    return _attention(q, k, v, HEADS_FIRST, "top-left" if flag(signature, 6) else "", extra)


def flash_forward(signature: Signature) -> Work:
    """_flash_attention_forward, (B, S, H, D): q, k, v, cu_q, cu_k, max_q, max_k, dropout, is_causal, ..."""
    q, k, v = _qkv(signature)
    causal = "bottom-right" if flag(signature, 8) else ""
    return _attention(q, k, v, SEQUENCE_FIRST, causal, _log_sum(q, SEQUENCE_FIRST))


def efficient_forward(signature: Signature) -> Work:
    """_efficient_attention_forward, (B, S, H, D): ..., dropout, mask type (1: top-left, 2: bottom-right), lse?"""
    q, k, v = _qkv(signature)
    causal = {"1": "top-left", "2": "bottom-right"}.get(argument(signature, 9), "")
    extra = _bias_bytes(signature, 3) + (_log_sum(q, SEQUENCE_FIRST) if flag(signature, 10) else 0)
    return _attention(q, k, v, SEQUENCE_FIRST, causal, extra)


def cudnn_forward(signature: Signature) -> Work:
    """_cudnn_attention_forward: q, k, v, bias, cu_q, cu_k, max_q, max_k, log-sum-exp?, dropout, is_causal, ..."""
    q, k, v = _qkv(signature)
    extra = _bias_bytes(signature, 3) + (_log_sum(q, HEADS_FIRST) if flag(signature, 8) else 0)
    return _attention(q, k, v, HEADS_FIRST, "top-left" if flag(signature, 10) else "", extra)


def _backward(signature: Signature, axes: tuple[int, int], causal: str) -> Work:
    """Five products instead of two (scores again, dV, dP, dQ, dK). Reads grad, q, k, v, out; writes dq, dk, dv."""
    q, k, v = _qkv(signature, first=1)
    batch, heads = q.shape[0], q.shape[axes[0]]
    queries, keys = q.shape[axes[1]], k.shape[axes[1]]
    pairs = causal_pairs(queries, keys, bottom_right=causal == "bottom-right") if causal else queries * keys
    flops = 2 * batch * heads * pairs * (3 * q.shape[-1] + 2 * v.shape[-1])
    inputs = sum(one.count * one.element_bytes for one in (q, k, v))
    output = batch * heads * queries * v.shape[-1] * q.element_bytes
    form = Attended(batch, heads, queries, keys, q.shape[-1])
    return Work(flops, 2 * inputs + 2 * output + _log_sum(q, axes), q.arithmetic, matrix=True, form=form)


def sdpa_flash_backward(signature: Signature) -> Work:
    """_scaled_dot_product_flash_attention_backward: ..., max_q, max_k, dropout, is_causal, ..."""
    return _backward(signature, HEADS_FIRST, "top-left" if flag(signature, 11) else "")


def flash_backward(signature: Signature) -> Work:
    """_flash_attention_backward, (B, S, H, D)."""
    return _backward(signature, SEQUENCE_FIRST, "bottom-right" if flag(signature, 11) else "")


MODELS: dict[str, Model] = {
    "scaled_dot_product_attention": sdpa,
    "_scaled_dot_product_attention_math": sdpa,
    "_scaled_dot_product_flash_attention": sdpa_flash,
    "_scaled_dot_product_flash_attention_for_cpu": sdpa_flash,
    "_scaled_dot_product_efficient_attention": sdpa_with_bias,
    "_scaled_dot_product_cudnn_attention": sdpa_with_bias,
    "_scaled_dot_product_fused_attention_overrideable": sdpa_with_bias,
    "_cudnn_attention_forward": cudnn_forward,
    "_flash_attention_forward": flash_forward,
    "_efficient_attention_forward": efficient_forward,
    "_scaled_dot_product_flash_attention_backward": sdpa_flash_backward,
    "_flash_attention_backward": flash_backward,
}
