"""flash-attn's functions on ROCm: aiter, then flash-attn's ROCm build, then PyTorch SDPA, then plain PyTorch.

Written by `kpt port`; imports nothing of it, and is imported on ROCm only. Arguments, layouts, masks and return values
are flash-attn 2's. What cannot be honoured is refused by name.

The first call of a kind chooses its implementation, the tier, and logs it; torch.compile sees a constant. Compiled code
calls the libraries' `torch.ops`, other code their Python functions. `last_tier()` names the tier that was last called
or traced. KPT_ATTENTION_TIER=aiter|flash_attn|sdpa|eager, read on import, asks for one; calls it cannot serve fail.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import logging
import math
import os
import re
from typing import Any, NamedTuple

import torch
from torch.nn import functional

__version__ = "2.8.0"  # the flash-attn whose functions these are
# aiter's CK and assembly kernels exist for these; on other GPUs it fails when it builds or runs.
AITER_TARGETS = ("gfx942", "gfx950")
_FORCED = os.environ.get("KPT_ATTENTION_TIER")
_HAS_GQA = "enable_gqa" in (functional.scaled_dot_product_attention.__doc__ or "")
_log = logging.getLogger(__name__)
_logged: set[str] = set()
_OFFERED = torch.library.Library("rocm_attention", "FRAGMENT")
_last_tier: str | None = None


def last_tier() -> str | None:
    """The implementation that served the last call: "aiter", "flash_attn", "sdpa" or "eager"."""
    return _last_tier


class _Call(NamedTuple):
    """flash-attn's options. A query sees `left` and `right` keys beside its own; -1 is no limit."""

    dropout_p: float = 0.0
    scale: float | None = None
    causal: bool = False
    left: int = -1
    right: int = -1
    softcap: float = 0.0
    alibi_slopes: Any = None
    deterministic: bool = False
    wants_lse: bool = False


def _call(dropout_p: float, scale: Any, causal: bool, window: Any, softcap: Any, alibi: Any, *flags: bool) -> _Call:
    left, right = (-1, -1) if window is None else window[:2]
    left, right = -1 if left is None or left < 0 else left, -1 if right is None or right < 0 else right
    return _Call(dropout_p, scale, causal, left, right, softcap or 0.0, alibi, *flags)


# ---- choosing a tier, once for each kind of call --------------------------------------------------------------------


_OPTIONS = ("softcap", "alibi_slopes", "window_size", "return_attn_probs")
_FACTS = ("dropout", "mask", "empty", "wide heads", "training", "compiled")


def _tier(function: str, q: Any, k: Any, v: Any, sizes: Any, call: _Call, given: Any = (), ragged: bool = False) -> str:
    """`sizes`: how many queries and keys; `ragged`: some sequences have fewer. "plain" leaves the libraries out."""
    options = (
        call.softcap != 0.0, call.alibi_slopes is not None, call.left >= 0 or call.right >= 0, call.wants_lse,
        call.dropout_p > 0.0, _mask(sizes[0], sizes[1], call, ragged) == "some",
        not (q.shape[0] and sizes[0] and sizes[1]), q.shape[-1] > 256,
        torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad),
        torch.compiler.is_compiling(),
    )  # fmt: skip
    # Sizes and numbers can be symbols of torch.compile; a choice rests on constants.
    constants = tuple([True if option else False for option in options])  # noqa: SIM210
    return str(_constant_tier(function, q.device, q.dtype, given, constants))


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _constant_tier(*kind: Any) -> str:
    """Called when torch.compile traces, not when the compiled code runs."""
    global _last_tier
    _last_tier = _choose(*kind)
    return _last_tier


@functools.cache
def _choose(function: str, device: Any, dtype: Any, given: tuple[str, ...], options: tuple[bool, ...]) -> str:
    asked = (*given, *(name for name, holds in zip((*_OPTIONS, *_FACTS), options, strict=True) if holds))
    passed: list[str] = []
    for tier in ("sdpa", "eager") if function == "plain" else ("aiter", "flash_attn", "sdpa", "eager"):
        if _FORCED and tier != _FORCED:
            continue
        if tier in ("sdpa", "eager"):
            reason = _torch_refuses(tier, asked)
        elif not _runs_kernels(device, dtype):
            reason = f"{tier} serves half precision on a GPU"
        elif tier == "aiter" and _target(device) not in AITER_TARGETS:
            reason = f"aiter has no kernels for {_target(device)}"
        else:
            reason = _library_refuses(tier, function, asked)
        if reason is None:
            if tier not in _logged:
                _logged.add(tier)
                level = logging.WARNING if tier in ("sdpa", "eager") else logging.INFO
                _log.log(level, "attention on ROCm runs on %s%s", tier, f" ({'; '.join(passed)})" if passed else "")
            return tier
        passed.append(reason)
    raise NotImplementedError(f"no attention for this call: {'; '.join(passed) or f'no tier named {_FORCED!r}'}")


def _torch_refuses(tier: str, asked: tuple[str, ...]) -> str | None:
    if "cache_leftpad" in asked:
        return "only flash-attn's own kernel has cache_leftpad"
    if tier == "eager":
        return None
    if "softcap" in asked or "return_attn_probs" in asked:
        return "SDPA has neither softcap nor the log-sum-exp"
    if "alibi_slopes" in asked:
        return "SDPA would round the ALiBi bias to the inputs' precision"
    if "empty" in asked:
        return "SDPA is not asked about empty sequences"
    if "mask" in asked and torch.version.hip and torch.__version__.startswith("2.6."):
        return "torch 2.6 on ROCm computes masked SDPA wrongly (AOTriton 0.8.0)"
    return None


def _runs_kernels(device: torch.device, dtype: torch.dtype) -> bool:
    return device.type == "cuda" and dtype in (torch.float16, torch.bfloat16)


def _target(device: torch.device) -> str:
    return str(getattr(torch.cuda.get_device_properties(device), "gcnArchName", "")).split(":")[0]


def _library_refuses(tier: str, function: str, asked: tuple[str, ...]) -> str | None:
    if "dropout" in asked and "return_attn_probs" in asked and (tier == "aiter" or "compiled" in asked):
        return f"{tier} does not give flash-attn's dropout pattern here"
    if tier == "aiter" and "wide heads" in asked:
        return "aiter's head size ends at 256"
    if tier == "aiter" and "training" in asked and "softcap" in asked:
        return "aiter's backward pass leaves softcap out"
    for op in (None,) if "compiled" not in asked else (0, 1) if "training" in asked else (0,):
        entry = _entry(tier, function, op)
        if isinstance(entry, str):
            return entry
        for argument in asked:
            if argument not in _FACTS and not entry[1].keys() & _SPELLINGS.get(argument, {argument}):
                return f"{tier}.{function} has no {argument}"
    return None


# ---- tiers one and two: kernels that may be installed -------------------------------------------------------------

_SPELLINGS = {
    "softcap": {"softcap", "logits_soft_cap"},
    "window_size": {"window_size", "window_size_left"},
    # Every op gives the log-sum-exp back, asked or not, and takes it in its backward pass.
    "return_attn_probs": {"return_lse", "return_attn_probs", "return_softmax_lse", "return_softmax", "softmax_lse"},
}
_OPS = {
    ("aiter", "flash_attn_func"): ("mha_fwd", "mha_bwd"),
    ("aiter", "flash_attn_varlen_func"): ("mha_varlen_fwd", "mha_varlen_bwd"),
    ("flash_attn", "flash_attn_func"): ("_flash_attn_forward", "_flash_attn_backward"),
    ("flash_attn", "flash_attn_varlen_func"): ("_flash_attn_varlen_forward", "_flash_attn_varlen_backward"),
}


@functools.cache
def _entry(tier: str, function: str, op: int | None) -> Any:
    """A library's Python function, its forward op (0) or its backward op (1), and the arguments it takes.

    They differ from one release to the next. A string says why there is none.
    """
    try:
        library = importlib.import_module(tier)
    except Exception as error:  # a broken build fails in many ways, and the next tier serves all of them
        return f"{tier} is not usable ({type(error).__name__}: {error})"
    if op is None:
        run = getattr(library, function, None)
        return (run, inspect.signature(run).parameters) if run else f"this {tier} has no {function}"
    run = getattr(getattr(torch.ops, tier), _OPS.get((tier, function), ("", ""))[op] or "no such op", None)
    if run is None:
        return f"this {tier} has no {function} in torch.ops"
    taken = {one.name: one for one in run.default._schema.arguments}
    known = _values(tier, True, dict.fromkeys((*_OTHERS, *_SAVED, "dout", "dq", "dk", "dv")), _Call())
    unknown = [name for name, one in taken.items() if name not in known and not one.has_default_value()]
    if unknown:
        return f"{tier}'s op for {function} asks for {unknown[0]}"
    _offer(f"{tier}_{_OPS[tier, function][op]}", run.default)
    return run.default, taken


def _offer(name: str, run: Any) -> None:
    """The op as `torch.ops.rocm_attention.NAME`. aiter's own schema calls every tensor written; only gradients are."""
    if not hasattr(torch.ops.rocm_attention, name):
        schema = re.sub(r"\(\w+!\)(\??) (?!d[qkv]\b)", r"\1 ", str(run._schema).partition("(")[2])
        _OFFERED.define(f"{name}({schema}")
        for key in ("CPU", "CUDA"):
            _OFFERED.impl(name, run, key)
        torch.library.register_fake(f"rocm_attention::{name}", run, lib=_OFFERED)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _arguments(tier: str, function: str, op: int | None) -> tuple[str, ...]:
    return tuple(_entry(tier, function, op)[1])


def _values(tier: str, is_op: bool, tensors: dict[str, Any], call: _Call) -> dict[str, Any]:
    """Every argument, by each name that a function or an op may have for it."""
    return {
        **tensors,
        "dropout_p": call.dropout_p, "softmax_scale": call.scale, "causal": call.causal, "is_causal": call.causal,
        "window_size": (call.left, call.right), "window_size_left": call.left, "window_size_right": call.right,
        "softcap": call.softcap, "logits_soft_cap": call.softcap, "alibi_slopes": call.alibi_slopes,
        "deterministic": call.deterministic, "return_lse" if tier == "aiter" else "return_attn_probs": call.wants_lse,
        "return_softmax_lse": call.wants_lse or is_op, "return_softmax": False, "return_dropout_randval": False,
        "min_seqlen_q": 0, "sink_size": 0, "zero_tensors": False,
    }  # fmt: skip


def _run_op(tier: str, function: str, op: int, tensors: dict[str, Any], call: _Call) -> Any:
    values = _values(tier, True, tensors, call)
    run = getattr(torch.ops.rocm_attention, f"{tier}_{_OPS[tier, function][op]}").default
    return run(**{name: values[name] for name in _arguments(tier, function, op) if name in values})


def _by_library(tier: str, function: str, tensors: dict[str, Any], call: _Call) -> Any:
    """By keywords only: aiter's positions are not flash-attn's."""
    if not torch.compiler.is_compiling():
        values = _values(tier, False, tensors, call)
        run, taken = _entry(tier, function, None)
        if len(getattr(taken.get("window_size"), "default", None) or ()) == 3:
            values["window_size"] += (0,)  # the number of sink tokens
        result = run(**{name: values[name] for name in taken if name in values})
        return (*result[:2], None) if call.wants_lse and tier == "aiter" else result
    q, k, v = (tensors[name] for name in "qkv")
    size = v.shape[-1]
    call = call._replace(scale=q.shape[-1] ** -0.5 if call.scale is None else call.scale)
    if q.shape[-1] % 8 or size % 8:  # as the libraries' Python functions do before they call their op
        q, k, v = (functional.pad(item, (0, -item.shape[-1] % 8)) for item in (q, k, v))
    q, k, v = (item if item.stride(-1) == 1 else item.contiguous() for item in (q, k, v))
    # Dynamo refuses one tensor for two inputs of an autograd function.
    k, v = k.view_as(k) if k is q else k, v.view_as(v) if v is q or v is k else v
    out, lse = _Op.apply(tier, function, q, k, v, *(tensors.get(name) for name in _OTHERS), *call)
    out = out if out.shape[-1] == size else out[..., :size]
    return (out, lse, None) if call.wants_lse else out


_OTHERS = ("cu_seqlens_q", "cu_seqlens_k", "max_seqlen_q", "max_seqlen_k", "block_table")
_SAVED = ("q", "k", "v", "out", "softmax_lse", "rng_state")


class _Op(torch.autograd.Function):  # type: ignore[misc]
    """A library's forward and backward op as one differentiable function that torch.compile can trace."""

    @staticmethod
    def forward(ctx: Any, tier: str, function: str, q: Any, k: Any, v: Any, *rest: Any) -> Any:
        others = {name: value for name, value in zip(_OTHERS, rest, strict=False) if value is not None}
        call = _Call(*rest[len(_OTHERS) :])
        out, lse, _, rng_state = _run_op(tier, function, 0, {"q": q, "k": k, "v": v, **others}, call)
        ctx.save_for_backward(q, k, v, out, lse, rng_state)
        ctx.tier, ctx.function, ctx.others, ctx.call = tier, function, others, call
        ctx.mark_non_differentiable(lse)
        return out, lse

    @staticmethod
    def backward(ctx: Any, gradient: Any, _: Any) -> Any:
        tensors = dict(zip(_SAVED, ctx.saved_tensors, strict=True))
        results = {"d" + name: torch.empty_like(tensors[name]) for name in "qkv"}
        tensors |= {"dout": gradient.contiguous(), **results, **ctx.others}
        _run_op(ctx.tier, ctx.function, 1, tensors, ctx.call)
        return (None, None, *results.values(), *(None for _ in (*_OTHERS, *ctx.call)))


# ---- tiers three and four: PyTorch ---------------------------------------------------------------------------------


def _mask(queries: int, keys: int, call: _Call, ragged: bool) -> str:
    """Which mask: "none", torch's own "causal" (aligned at the top left, so only for equal lengths), or "some"."""
    right = 0 if call.causal else call.right
    if not ragged and call.left < 0 and (right < 0 or (right == 0 and queries == 1)):
        return "none"
    return "causal" if not ragged and call.left < 0 and right == 0 and queries == keys else "some"


def _positions(q: Any, k: Any, sizes: Any) -> tuple[Any, Any, Any]:
    """Each query's place among the keys (the last query stands at the last key), the keys' places, and their number."""
    queries, keys = (q.shape[1], k.shape[1]) if sizes is None else (item.view(-1, 1, 1, 1) for item in sizes)
    rows = torch.arange(q.shape[1], device=q.device).view(1, 1, -1, 1) + (keys - queries)
    return rows, torch.arange(k.shape[1], device=q.device).view(1, 1, 1, -1), keys


def _allowed(q: Any, k: Any, call: _Call, sizes: Any) -> Any:
    """Which keys a query may see, (batch or 1, 1, queries, keys); None where it sees them all."""
    if _mask(q.shape[1], k.shape[1], call, sizes is not None) == "none":
        return None
    rows, columns, number = _positions(q, k, sizes)
    allowed = (columns < number) & (rows == rows)
    if call.left >= 0:
        allowed = allowed & (columns >= rows - call.left)
    if call.causal or call.right >= 0:
        allowed = allowed & (columns <= rows + (0 if call.causal else call.right))
    return allowed


def _sdpa(q: Any, k: Any, v: Any, call: _Call, sizes: Any) -> Any:
    square = _mask(q.shape[1], k.shape[1], call, sizes is not None) == "causal"
    allowed = None if square else _allowed(q, k, call, sizes)
    queries, keys, values = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    extra: dict[str, Any] = {}
    if q.shape[2] != k.shape[2]:
        if _HAS_GQA:
            extra["enable_gqa"] = True
        else:
            keys, values = (item.repeat_interleave(q.shape[2] // k.shape[2], dim=1) for item in (keys, values))
    blind = None
    if allowed is not None:
        # A query without keys gives 0 in flash-attn and NaN in a softmax: it sees all keys, then is blanked.
        blind = ~allowed.any(-1, keepdim=True)
        allowed = allowed | blind
    out = functional.scaled_dot_product_attention(
        queries, keys, values, attn_mask=allowed, dropout_p=call.dropout_p, is_causal=square, scale=call.scale, **extra
    )
    if blind is not None:
        out = out.masked_fill(blind, 0.0)
    return out.transpose(1, 2)


def _eager(q: Any, k: Any, v: Any, call: _Call, sizes: Any) -> Any:
    batch, queries, heads, size = q.shape
    groups = k.shape[2]
    if heads % groups:
        raise ValueError(f"{heads} query heads cannot share {groups} key heads")
    kind = torch.float64 if q.dtype is torch.float64 else torch.float32
    scale = call.scale if call.scale is not None else 1.0 / math.sqrt(size)
    grouped = q.to(kind).reshape(batch, queries, groups, heads // groups, size)
    scores = torch.einsum("bqgnd,bkgd->bgnqk", grouped * scale, k.to(kind)).reshape(batch, heads, queries, k.shape[1])
    if call.softcap:
        scores = call.softcap * torch.tanh(scores / call.softcap)
    if call.alibi_slopes is not None:
        rows, columns, _ = _positions(q, k, sizes)
        slopes = call.alibi_slopes.to(kind)  # for each head, or for each sequence and head
        scores = scores - slopes.view(-1, heads, 1, 1) * (rows - columns).abs()
    allowed = _allowed(q, k, call, sizes)
    blind = torch.full((1, 1, queries, 1), k.shape[1] == 0, device=q.device)
    if allowed is not None:
        blind = ~allowed.any(-1, keepdim=True)
        scores = scores.masked_fill(~(allowed | blind), float("-inf"))
    weights = torch.softmax(scores, dim=-1).masked_fill(blind, 0.0)
    kept = weights
    if call.dropout_p > 0.0:
        drops = torch.rand_like(weights) < call.dropout_p
        kept = weights.masked_fill(drops, 0.0) / (1.0 - call.dropout_p)
        weights = torch.where(drops, -weights, weights)
    shared = kept.reshape(batch, groups, heads // groups, queries, k.shape[1])
    out = torch.einsum("bgnqk,bkgd->bqgnd", shared, v.to(kind)).reshape(batch, queries, heads, v.shape[-1]).to(q.dtype)
    if not call.wants_lse:
        return out
    lse = torch.logsumexp(scores, dim=-1).masked_fill(blind.squeeze(-1), float("inf"))
    return out, lse.to(kind), weights if call.dropout_p > 0.0 else None


def _by_torch(q: Any, k: Any, v: Any, call: _Call, sizes: Any = None, tier: str = "") -> Any:
    """`sizes`: tensors with the sequences' numbers of queries and of keys, where these differ."""
    tier = tier or _tier("plain", q, k, v, (q.shape[1], k.shape[1]), call, ragged=sizes is not None)
    return (_sdpa if tier == "sdpa" else _eager)(q, k, v, call, sizes)


def _one_by_one(q: Any, k: Any, v: Any, ends_q: Any, ends_k: Any, call: _Call) -> Any:
    """Sequence by sequence, or all at once where they are equally long: the lengths are read on the host."""
    at_q, at_k = ends_q.tolist(), ends_k.tolist()
    number = len(at_q) - 1
    lengths = {(at_q[i + 1] - at_q[i], at_k[i + 1] - at_k[i]) for i in range(number)}
    step = number if len(lengths) == 1 and 0 not in next(iter(lengths)) else 1
    parts = []
    for i in range(0, number, step):
        rows, columns = slice(at_q[i], at_q[i + step]), slice(at_k[i], at_k[i + step])
        queries, keys, values = (
            item.unflatten(0, (step, -1)) if step > 1 else item[None] for item in (q[rows], k[columns], v[columns])
        )
        slopes = call.alibi_slopes
        slopes = slopes if slopes is None or slopes.dim() == 1 else slopes[i : i + step]
        parts.append(_by_torch(queries, keys, values, call._replace(alibi_slopes=slopes)))
    if not call.wants_lse:
        return torch.cat([part.flatten(0, 1) for part in parts])
    lse = torch.cat([part[1].transpose(0, 1).flatten(1) for part in parts], dim=1)
    return torch.cat([part[0].flatten(0, 1) for part in parts]), lse, None


def _padded(q: Any, k: Any, v: Any, ends_q: Any, ends_k: Any, longest: tuple[int, int], call: _Call, table: Any) -> Any:
    """All sequences at once, filled up to the longest: nothing asks the host, so it compiles and can be captured."""
    if table is None:
        keys, values = (_filled(item, ends_k, longest[1]) for item in (k, v))
    else:
        keys, values = _unpaged(k, table), _unpaged(v, table)
    result = _by_torch(_filled(q, ends_q, longest[0]), keys, values, call, (ends_q.diff(), ends_k.diff()))
    tokens = torch.arange(q.shape[0], device=q.device)
    row = torch.bucketize(tokens, ends_q[1:], right=True).clamp(max=ends_q.shape[0] - 2)
    column = (tokens - ends_q[row]).clamp(max=longest[0] - 1)
    if not call.wants_lse:
        return result[row, column]
    return result[0][row, column], result[1].transpose(0, 1)[:, row, column], None


def _filled(tokens: Any, ends: Any, longest: int) -> Any:
    """(tokens, heads, size) as (batch, longest, heads, size); behind a sequence's end stands anything finite."""
    at = ends[:-1, None] + torch.arange(longest, device=tokens.device)
    return functional.pad(tokens, (0, 0, 0, 0, 0, 1))[at.clamp(max=tokens.shape[0])]


def _unpaged(cache: Any, table: Any) -> Any:
    """(pages, page size, heads, size) as (batch, keys, heads, size)."""
    return cache[table.clamp(min=0).long()].flatten(1, 2)


# ---- flash-attn's functions ----------------------------------------------------------------------------------------


def flash_attn_func(
    q: Any, k: Any, v: Any, dropout_p: float = 0.0, softmax_scale: float | None = None, causal: bool = False,
    window_size: Any = (-1, -1), softcap: float = 0.0, alibi_slopes: Any = None, deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """(batch, seqlen, heads, size) each; fewer key heads than query heads are shared; causal is bottom-right."""
    call = _call(dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic, return_attn_probs)
    tier = _tier("flash_attn_func", q, k, v, (q.shape[1], k.shape[1]), call)
    if tier in ("sdpa", "eager"):
        return _by_torch(q, k, v, call, None, tier)
    return _by_library(tier, "flash_attn_func", {"q": q, "k": k, "v": v}, call)


def flash_attn_varlen_func(
    q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, max_seqlen_q: int, max_seqlen_k: int,
    dropout_p: float = 0.0, softmax_scale: float | None = None, causal: bool = False, window_size: Any = (-1, -1),
    softcap: float = 0.0, alibi_slopes: Any = None, deterministic: bool = False, return_attn_probs: bool = False,
    block_table: Any = None,
) -> Any:  # fmt: skip
    """(tokens, heads, size) each, sequences end to end; `block_table` makes k and v pages of a cache."""
    call = _call(dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic, return_attn_probs)
    paged = () if block_table is None else ("block_table",)
    tier = _tier("flash_attn_varlen_func", q, k, v, (max_seqlen_q, max_seqlen_k), call, paged)
    if tier not in ("sdpa", "eager"):
        tensors = {"q": q, "k": k, "v": v, "cu_seqlens_q": cu_seqlens_q, "cu_seqlens_k": cu_seqlens_k,
                   "max_seqlen_q": max_seqlen_q, "max_seqlen_k": max_seqlen_k}  # fmt: skip
        if block_table is not None:
            tensors["block_table"] = block_table
        return _by_library(tier, "flash_attn_varlen_func", tensors, call)
    if call.wants_lse and call.dropout_p > 0.0:
        raise NotImplementedError("return_attn_probs with dropout over sequences of different length")
    if torch.compiler.is_compiling() or (q.is_cuda and torch.cuda.is_current_stream_capturing()):
        return _padded(q, k, v, cu_seqlens_q, cu_seqlens_k, (max_seqlen_q, max_seqlen_k), call, block_table)
    if block_table is not None:
        sizes = zip(_unpaged(k, block_table), _unpaged(v, block_table), cu_seqlens_k.diff().tolist(), strict=True)
        k, v = (torch.cat(rows) for rows in zip(*((keys[:n], values[:n]) for keys, values, n in sizes), strict=True))
    return _one_by_one(q, k, v, cu_seqlens_q, cu_seqlens_k, call)


def flash_attn_qkvpacked_func(qkv: Any, *arguments: Any, **keywords: Any) -> Any:
    """(batch, seqlen, 3, heads, size)."""
    return flash_attn_func(*qkv.unbind(2), *arguments, **keywords)


def flash_attn_kvpacked_func(q: Any, kv: Any, *arguments: Any, **keywords: Any) -> Any:
    """q as in `flash_attn_func`, kv (batch, seqlen, 2, key heads, size)."""
    return flash_attn_func(q, *kv.unbind(2), *arguments, **keywords)


def flash_attn_varlen_qkvpacked_func(qkv: Any, cu_seqlens: Any, max_seqlen: int, *rest: Any, **keywords: Any) -> Any:
    """(tokens, 3, heads, size)."""
    q, k, v = qkv.unbind(1)
    arguments: tuple[Any, ...] = (q, k, v, cu_seqlens, cu_seqlens, max_seqlen, max_seqlen, *rest)
    return flash_attn_varlen_func(*arguments, **keywords)


def flash_attn_varlen_kvpacked_func(q: Any, kv: Any, *arguments: Any, **keywords: Any) -> Any:
    """q as in `flash_attn_varlen_func`, kv (tokens, 2, key heads, size)."""
    return flash_attn_varlen_func(q, *kv.unbind(1), *arguments, **keywords)


def _rotated(x: Any, cos: Any, sin: Any, positions: Any, interleaved: bool) -> Any:
    """Rotary embedding of (batch, seqlen, heads, size) at (batch, seqlen) positions; what lies behind is kept."""
    half = cos.shape[-1]
    cosines, sines = (table[positions.long()].unsqueeze(2).to(x.dtype) for table in (cos, sin))
    turned, kept = x[..., : 2 * half], x[..., 2 * half :]
    first, second = (turned[..., ::2], turned[..., 1::2]) if interleaved else turned.chunk(2, dim=-1)
    pair = (first * cosines - second * sines, first * sines + second * cosines)
    whole = torch.stack(pair, dim=-1).flatten(-2) if interleaved else torch.cat(pair, dim=-1)
    return torch.cat([whole, kept], dim=-1)


def flash_attn_with_kvcache(
    q: Any, k_cache: Any, v_cache: Any, k: Any = None, v: Any = None, rotary_cos: Any = None, rotary_sin: Any = None,
    cache_seqlens: Any = None, cache_batch_idx: Any = None, cache_leftpad: Any = None, block_table: Any = None,
    softmax_scale: float | None = None, causal: bool = False, window_size: Any = (-1, -1), softcap: float = 0.0,
    rotary_interleaved: bool = True, alibi_slopes: Any = None, num_splits: int = 0, return_softmax_lse: bool = False,
) -> Any:  # fmt: skip
    """New keys and values go into the cache in place, at `cache_seqlens`; then attention over what the cache holds."""
    call = _call(0.0, softmax_scale, causal, window_size, softcap, alibi_slopes, False, return_softmax_lse)
    given = {
        "k": k, "v": v, "rotary_cos": rotary_cos, "rotary_sin": rotary_sin, "cache_seqlens": cache_seqlens,
        "cache_batch_idx": cache_batch_idx, "cache_leftpad": cache_leftpad, "block_table": block_table,
    }  # fmt: skip
    given = {name: value for name, value in given.items() if value is not None}
    tier = _tier(
        "flash_attn_with_kvcache", q, k_cache, v_cache, (q.shape[1], k_cache.shape[1]), call, tuple(given), True
    )
    if tier not in ("sdpa", "eager"):
        tensors = {"q": q, "k_cache": k_cache, "v_cache": v_cache, **given, "num_splits": num_splits,
                   "rotary_interleaved": rotary_interleaved, "return_softmax_lse": return_softmax_lse}  # fmt: skip
        return _by_library(tier, "flash_attn_with_kvcache", tensors, call)
    batch, fresh = q.shape[0], 0 if k is None else k.shape[1]
    held = k_cache.shape[1] * (1 if block_table is None else block_table.shape[1])
    before = held - fresh if cache_seqlens is None else cache_seqlens
    before = torch.as_tensor(before, device=q.device).expand(batch)
    if rotary_cos is not None:
        steps = torch.arange(q.shape[1], device=q.device) if causal or tuple(window_size) != (-1, -1) else 0
        at = before[:, None] + torch.as_tensor(steps, device=q.device).expand(q.shape[1])
        q = _rotated(q, rotary_cos, rotary_sin, at, rotary_interleaved)
    if k is not None:
        at = (before[:, None] + torch.arange(fresh, device=q.device)).long()
        if rotary_cos is not None:
            k = _rotated(k, rotary_cos, rotary_sin, at, rotary_interleaved)
        slots = torch.arange(batch, device=q.device) if cache_batch_idx is None else cache_batch_idx.long()
        rows, columns = slots[:, None].expand_as(at), at
        if block_table is not None:
            page = k_cache.shape[1]
            rows, columns = block_table.long().gather(1, at // page), at % page
        k_cache[rows, columns], v_cache[rows, columns] = k.to(k_cache.dtype), v.to(v_cache.dtype)
    if block_table is not None:
        keys, values = _unpaged(k_cache, block_table), _unpaged(v_cache, block_table)
    elif cache_batch_idx is not None:
        keys, values = k_cache[cache_batch_idx.long()], v_cache[cache_batch_idx.long()]
    else:
        keys, values = k_cache, v_cache
    sizes = torch.full_like(before, q.shape[1]), before + fresh
    result = _by_torch(q, keys[:batch], values[:batch], call, sizes, tier)
    return result[:2] if return_softmax_lse else result


# ---- flash-attn 3's: other positions, no dropout -------------------------------------------------------------------


_V3 = ("softmax_scale", "causal", "qv", "q_descale", "k_descale", "v_descale", "window_size", "attention_chunk",
       "softcap", "num_splits", "pack_gqa", "deterministic", "sm_margin", "return_attn_probs")  # fmt: skip


def flash_attn_v3_func(q: Any, k: Any, v: Any, *arguments: Any, **keywords: Any) -> Any:
    """`flash_attn_interface.flash_attn_func`. num_splits, pack_gqa and sm_margin only tune, and are dropped."""
    return _third(flash_attn_func, (q, k, v), dict(zip(_V3, arguments, strict=False)) | keywords)


def flash_attn_v3_varlen_func(
    q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, max_seqlen_q: int, max_seqlen_k: int,
    *arguments: Any, **keywords: Any,
) -> Any:  # fmt: skip
    """`flash_attn_interface.flash_attn_varlen_func`, with the same refusals."""
    asked = dict(zip(("seqused_q", "seqused_k", *_V3), arguments, strict=False)) | keywords
    return _third(flash_attn_varlen_func, (q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k), asked)


def _third(function: Any, tensors: tuple[Any, ...], asked: dict[str, Any]) -> Any:
    for name in ("qv", "q_descale", "k_descale", "v_descale", "attention_chunk", "seqused_q", "seqused_k"):
        value = asked.pop(name, None)
        if value is not None and not (isinstance(value, (bool, int)) and value == 0):
            raise NotImplementedError(f"flash-attn 3's {name} has no counterpart on ROCm")
    kept = {name: value for name, value in asked.items() if name not in ("num_splits", "pack_gqa", "sm_margin")}
    out = function(*tensors, **kept)
    return out[:2] if asked.get("return_attn_probs") else out
