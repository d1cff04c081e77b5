"""Operators of serving engines (vLLM, SGLang, aiter) and kernels that Inductor generated, as traces name them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from kernel_pytorch.perf.roofline.attention import causal_pairs
from kernel_pytorch.perf.roofline.forms import Attended, Rows, Streamed
from kernel_pytorch.perf.roofline.functions import instructions
from kernel_pytorch.perf.roofline.shapes import Tensor, argument, flag, tensor, tensors
from kernel_pytorch.perf.roofline.work import Model, Work
from kernel_pytorch.perf.trace.recording import Signature

_GENERATED = re.compile(r"^triton_(poi|red|per)_fused")
# Kernels that a user wrote in Triton carry a number behind their name.
_SAGE = re.compile(r"^sage_fwd(_\d+)?$")
_QUANT = re.compile(r"(quant_fp8|scaled_fp8_quant|per_token_quant|per_token_group_quant|dynamic_per_token|sage_quant)")


def model(operator: str) -> Model | None:
    """The model of an operator with its namespace ("aiter::rmsnorm"), or of a generated kernel."""
    if _GENERATED.match(operator):
        return generated
    if _SAGE.match(operator):
        return attention_heads_first
    if operator not in MODELS and _QUANT.search(operator):
        return quantize
    return MODELS.get(operator)


def _needed(signature: Signature, *positions: int) -> list[Tensor]:
    found = [tensor(signature, position) for position in positions]
    if any(one is None for one in found):
        raise ValueError("shapes are missing")
    return [one for one in found if one is not None]


def _norm(x: Tensor, weight: Tensor, moved: int, adds: int) -> Work:
    row = x.shape[-1]
    rows = x.count // row if row else 0
    flops = rows * (4 * row + 2) + adds * x.count
    return Work(flops, moved + weight.bytes, x.arithmetic, form=Rows("fused norm", rows, row))


def rms_norm(signature: Signature) -> Work:
    """rms_norm(out, input, weight, eps)."""
    out, x, weight = _needed(signature, 0, 1, 2)
    return _norm(x, weight, out.bytes + x.bytes, adds=0)


def fused_add_rms_norm(signature: Signature) -> Work:
    """fused_add_rms_norm(input, residual, weight, eps): both are read, and written in place."""
    x, residual, weight = _needed(signature, 0, 1, 2)
    return _norm(x, weight, 2 * (x.bytes + residual.bytes), adds=1)


def add_rms_norm(signature: Signature) -> Work:
    """aiter::add_rmsnorm(out, input, residual in, residual out, weight, eps)."""
    *moved, weight = _needed(signature, 0, 1, 2, 3, 4)
    return _norm(moved[1], weight, sum(one.bytes for one in moved), adds=1)


def first_rms_norm(signature: Signature) -> Work:
    """aiter::rms_norm(input, weight, eps, model): the result is returned."""
    x, weight = _needed(signature, 0, 1)
    return _norm(x, weight, x.bytes + x.count * x.element_bytes, adds=0)


def attention_heads_first(signature: Signature) -> Work:
    """SageAttention's kernel(q, k, v, ...): (batch, heads, sequence, head), 8 bits, and 16 for the result."""
    q, k, v = _needed(signature, 0, 1, 2)
    return _dense_attention(q, k, v, (1, 2), causal=False)


def attention_sequence_first(signature: Signature) -> Work:
    """aiter::fmha_v3_fwd, aiter::mha_fwd (q, k, v, dropout, scale, causal, ...): (batch, sequence, heads, head)."""
    q, k, v = _needed(signature, 0, 1, 2)
    return _dense_attention(q, k, v, (2, 1), causal=flag(signature, 5))


def _dense_attention(q: Tensor, k: Tensor, v: Tensor, axes: tuple[int, int], causal: bool) -> Work:
    batch, heads, head = q.shape[0], q.shape[axes[0]], q.shape[-1]
    queries, keys = q.shape[axes[1]], k.shape[axes[1]]
    pairs = causal_pairs(queries, keys, bottom_right=True) if causal else queries * keys
    flops = 2 * batch * heads * pairs * (head + v.shape[-1])
    moved = q.bytes + k.bytes + v.bytes + 2 * batch * heads * queries * v.shape[-1]
    arithmetic = "fp8" if q.arithmetic == "int8" else q.arithmetic
    return Work(flops, moved, arithmetic, matrix=True, form=Attended(batch, heads, queries, keys, head, "aiter"))


def quantize(signature: Signature) -> Work | None:
    """Every tensor once: the values in two formats, and the scales."""
    given = [one for one in tensors(signature) if one.count > 1]
    if not given:
        return None
    largest = max(given, key=lambda one: one.count)
    return Work(2 * largest.count, sum(one.bytes for one in given), "fp32", form=Streamed("elementwise", "strided"))


def choose_experts(signature: Signature) -> Work:
    """TopK(scores) of triton_kernels: each token's best experts."""
    x = _needed(signature, 0)[0]
    return Work(x.count, x.bytes, x.arithmetic, form=Rows("reduction", x.shape[0], x.shape[-1]))


def sort_tokens(signature: Signature) -> Work:
    """SortTokens(weights, experts) of triton_kernels: counted, summed and moved, in some three kernels."""
    weights, experts = _needed(signature, 0, 1)
    return Work(0, 2 * (weights.bytes + experts.bytes), weights.arithmetic, form=Streamed("copy", "strided"))


def gate(signature: Signature) -> Work:
    """silu_and_mul(out, input): the input has gate and up side by side."""
    out, x = _needed(signature, 0, 1)
    return Work(2 * out.count, out.bytes + x.bytes, x.arithmetic, form=Streamed("function", "strided"))


def rotary(signature: Signature) -> Work:
    """rotary_embedding(positions, query, key, ...): both are read, and written in place."""
    q, k = _needed(signature, 1, 2)
    return Work(3 * (q.count + k.count), 2 * (q.bytes + k.bytes), q.arithmetic, form=Streamed("elementwise", "strided"))


def store_in_cache(signature: Signature) -> Work:
    """reshape_and_cache(key, value, key cache, value cache, slots): new keys and values are read and written."""
    k, v, cache = _needed(signature, 0, 1, 2)
    moved = k.bytes + v.bytes + (k.count + v.count) * cache.element_bytes
    return Work(0, moved, k.arithmetic, form=Streamed("copy", "strided"))


def group_norm(signature: Signature) -> Work:
    """aiter::_groupnorm_run(input, groups, weight, bias, eps)."""
    x, weight, bias = _needed(signature, 0, 2, 3)
    groups = x.shape[0] * int(argument(signature, 1))
    row = x.count // groups
    moved = 2 * x.bytes + weight.bytes + bias.bytes + 8 * groups
    return Work(groups * (7 * row + 2), moved, x.arithmetic, form=Streamed("group norm", "same"))


def generated(signature: Signature) -> Work | None:
    """A kernel of Inductor's: each of its tensors once, one FLOP for each element of the largest.

    What it computes is not in a trace. How many elements it goes over is: its last arguments, one for each axis. Of a
    larger tensor (a table that rows are taken from, a cache that is written into) it touches no more than that.
    """
    given = tensors(signature)
    if not given:
        return None
    steps = math.prod(_axes(signature)) or max(one.count for one in given)
    moved = sum(min(_touched(one, given), steps) * one.element_bytes for one in given)
    widest = max(given, key=lambda one: min(one.count, steps))
    axes = _axes(signature)
    form: Streamed | Rows = Streamed("generated pointwise", "same", steps * instructions(signature.name.split("_")))
    if not signature.name.startswith("triton_poi") and len(axes) > 1:
        # "per" keeps a row in registers, "red" goes along it in a loop, mostly twice. The last axis is the row.
        what = "generated row" if signature.name.startswith("triton_per") else "generated loop"
        form = Rows(what, steps // axes[0], axes[0])
    return Work(steps, moved, widest.arithmetic, form=form)


def _touched(one: Tensor, given: Sequence[Tensor]) -> int:
    """How many elements of it are read or written: of a table only the rows that an index picks, where that is plain.

    It is where an integer tensor has an entry for each row of another tensor that is as wide as the table. Several
    kernels in one do not tell how many elements they go over.
    """
    if len(one.shape) != 2:
        return one.stored_count
    rows = {other.shape[0] for other in given if len(other.shape) == 2 and other.shape[1] == one.shape[1]}
    picked = {other.count for other in given if len(other.shape) == 1 and other.arithmetic in ("int32", "int64")}
    fewest = min(rows & picked, default=one.shape[0])
    return min(one.stored_count, fewest * one.shape[1])


def _axes(signature: Signature) -> list[int]:
    """The sizes that Inductor passes behind the tensors, last one first; [0] where they were not recorded."""
    sizes: list[int] = []
    for text in reversed(signature.concrete):
        if not text.strip().isdigit():
            break
        sizes.append(int(text))
    return sizes or [0]


MODELS: dict[str, Model] = {
    **dict.fromkeys(("_C::rms_norm", "aiter::rmsnorm", "sgl_kernel::rmsnorm"), rms_norm),
    **dict.fromkeys(("_C::fused_add_rms_norm", "sgl_kernel::fused_add_rmsnorm"), fused_add_rms_norm),
    **dict.fromkeys(("aiter::add_rmsnorm", "aiter::rmsnorm2d_fwd_with_add_ck"), add_rms_norm),
    **dict.fromkeys(("aiter::rms_norm", "aiter::rmsnorm2d_fwd", "aiter::rmsnorm2d_fwd_ck"), first_rms_norm),
    **dict.fromkeys(("aiter::fmha_v3_fwd", "aiter::mha_fwd"), attention_sequence_first),
    **dict.fromkeys(("_C::silu_and_mul", "_C::gelu_and_mul", "sgl_kernel::silu_and_mul", "aiter::silu_and_mul"), gate),
    **dict.fromkeys(("_C::rotary_embedding", "sgl_kernel::rotary_embedding"), rotary),
    **dict.fromkeys(("_C_cache_ops::reshape_and_cache_flash", "sglang::store_cache"), store_in_cache),
    "TopK": choose_experts,
    "SortTokens": sort_tokens,
    "aiter::_groupnorm_run": group_norm,
}
