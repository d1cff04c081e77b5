"""Operators of serving engines (vLLM, SGLang, aiter) and kernels that Inductor generated, as traces name them."""

from __future__ import annotations

import re

from kernel_pytorch.perf.roofline.attention import causal_pairs
from kernel_pytorch.perf.roofline.forms import Attended, Rows, Streamed
from kernel_pytorch.perf.roofline.shapes import Tensor, argument, tensor, tensors
from kernel_pytorch.perf.roofline.work import Model, Work
from kernel_pytorch.perf.trace.recording import Signature

_GENERATED = re.compile(r"^triton_(poi|red|per)_fused")


def model(operator: str) -> Model | None:
    """The model of an operator with its namespace ("aiter::rmsnorm"), or of a generated kernel."""
    if _GENERATED.match(operator):
        return generated
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


def batch_prefill(signature: Signature) -> Work:
    """aiter::mha_batch_prefill(q, k cache, v cache, starts of the queries, ...): causal, sequences of equal length.

    The trace has no lengths, only how many sequences there are.
    """
    q, k, starts = _needed(signature, 0, 1, 3)
    tokens, heads, head = q.shape
    batch = max(1, starts.count - 1)
    length = tokens // batch
    flops = 4 * batch * heads * causal_pairs(length, length) * head
    moved = 2 * q.bytes + 2 * tokens * k.shape[1] * head * k.element_bytes
    return Work(flops, moved, q.arithmetic, matrix=True, form=Attended(batch, heads, length, length, head))


def group_norm(signature: Signature) -> Work:
    """aiter::_groupnorm_run(input, groups, weight, bias, eps)."""
    x, weight, bias = _needed(signature, 0, 2, 3)
    groups = x.shape[0] * int(argument(signature, 1))
    row = x.count // groups
    moved = 2 * x.bytes + weight.bytes + bias.bytes + 8 * groups
    return Work(groups * (7 * row + 2), moved, x.arithmetic, form=Streamed("group norm", "same"))


def generated(signature: Signature) -> Work | None:
    """A kernel of Inductor's: each of its tensors once, one FLOP for each element of the largest.

    What it computes is not in a trace. A tensor of which only a part is read counts as a whole.
    """
    given = tensors(signature)
    if not given:
        return None
    largest = max(given, key=lambda one: one.count)
    reduces = not signature.name.startswith("triton_poi")
    form = Streamed("generated reduction" if reduces else "generated pointwise", "same")
    return Work(largest.count, sum(one.bytes for one in given), largest.arithmetic, form=form)


MODELS: dict[str, Model] = {
    **dict.fromkeys(("_C::rms_norm", "aiter::rmsnorm", "sgl_kernel::rmsnorm"), rms_norm),
    **dict.fromkeys(("_C::fused_add_rms_norm", "sgl_kernel::fused_add_rmsnorm"), fused_add_rms_norm),
    "aiter::add_rmsnorm": add_rms_norm,
    **dict.fromkeys(("_C::silu_and_mul", "_C::gelu_and_mul", "sgl_kernel::silu_and_mul", "aiter::silu_and_mul"), gate),
    **dict.fromkeys(("_C::rotary_embedding", "sgl_kernel::rotary_embedding"), rotary),
    **dict.fromkeys(("_C_cache_ops::reshape_and_cache_flash", "sglang::store_cache"), store_in_cache),
    "aiter::mha_batch_prefill": batch_prefill,
    "aiter::_groupnorm_run": group_norm,
}
