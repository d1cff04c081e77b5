"""flash-attn's functions on ROCm: aiter, then flash-attn's ROCm build, then PyTorch SDPA, then plain PyTorch.

Written by `kpt port`; imports nothing of it, and is imported on ROCm only. Arguments, layouts, masks and return values
are flash-attn 2's; what cannot be honoured is refused by name. `last_tier()` tells which implementation ran last;
KPT_ATTENTION_TIER=aiter|flash_attn|sdpa|eager asks for one and fails if it cannot serve the call.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import math
import os
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn import functional

__version__ = "2.8.0"  # the flash-attn whose functions these are
# aiter's CK and assembly kernels exist for these; on other GPUs it fails when it builds or runs.
AITER_TARGETS = ("gfx942", "gfx950")
_log = logging.getLogger(__name__)
_logged: set[str] = set()
_last_tier: str | None = None


def last_tier() -> str | None:
    """The implementation that served the last call: "aiter", "flash_attn", "sdpa" or "eager"."""
    return _last_tier


@dataclass(frozen=True)
class _Call:
    dropout_p: float = 0.0
    softmax_scale: float | None = None
    causal: bool = False
    window_size: tuple[int, int] = (-1, -1)
    softcap: float = 0.0
    alibi_slopes: torch.Tensor | None = None
    deterministic: bool = False
    wants_lse: bool = False
    wants_probabilities: bool = False

    @property
    def window(self) -> tuple[int, int]:
        """Keys to the left and right that a query sees; -1 is no limit. Causal ends at the query itself."""
        left, right = self.window_size
        return left, 0 if self.causal else right


def _call(
    dropout_p: float, scale: float | None, causal: bool, window: Any, softcap: float | None, alibi: Any,
    deterministic: bool, returns: bool,
) -> _Call:  # fmt: skip
    left, right = (-1 if side is None else int(side) for side in tuple(window or (-1, -1))[:2])
    window = (left if left >= 0 else -1, right if right >= 0 else -1)
    # flash-attn gives the dropout pattern back only where there is dropout.
    probabilities = bool(returns) and dropout_p > 0.0
    return _Call(
        float(dropout_p), scale, bool(causal), window, softcap or 0.0, alibi, deterministic, returns, probabilities
    )


# ---- tiers one and two: kernels that may be installed -------------------------------------------------------------


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except Exception as error:  # a broken build fails in many ways, and the next tier serves all of them
        return f"{name} is not usable ({type(error).__name__}: {error})"


def _target(tensor: torch.Tensor) -> str:
    properties = torch.cuda.get_device_properties(tensor.device)
    return str(getattr(properties, "gcnArchName", "")).split(":")[0]


def _runs_kernels(tensor: torch.Tensor) -> bool:
    return tensor.is_cuda and tensor.dtype in (torch.float16, torch.bfloat16)


def _accepts(function: Any, keywords: dict[str, Any]) -> str | None:
    """The first keyword that a function does not take. Signatures differ from one release to the next."""
    known = inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        return None
    return next((name for name in keywords if name not in known), None)


def _keywords(call: _Call) -> dict[str, Any]:
    """What differs from the defaults: older releases lack the later arguments."""
    keywords: dict[str, Any] = {
        "dropout_p": call.dropout_p,
        "softmax_scale": call.softmax_scale,
        "causal": call.causal,
        "deterministic": call.deterministic,
    }
    if call.window_size != (-1, -1):
        keywords["window_size"] = call.window_size
    if call.alibi_slopes is not None:
        keywords["alibi_slopes"] = call.alibi_slopes
    return keywords


def _aiter(name: str, tensors: dict[str, Any], call: _Call) -> Any:
    """aiter's function by keywords only: its positions are not flash-attn's. A string says why it cannot serve."""
    query = tensors["q"]
    if not _runs_kernels(query):
        return "aiter serves half precision on a GPU"
    if _target(query) not in AITER_TARGETS:
        return f"aiter has no kernels for {_target(query)}"
    if query.shape[-1] > 256:
        return "aiter's head size ends at 256"
    if call.wants_probabilities:
        return "aiter's dropout pattern is not flash-attn's"
    module = _module("aiter")
    function = module if isinstance(module, str) else getattr(module, name, f"this aiter has no {name}")
    if isinstance(function, str):
        return function
    known = inspect.signature(function).parameters
    keywords = {**tensors, **_keywords(call)}
    if "window_size" in keywords and len(getattr(known.get("window_size"), "default", None) or ()) == 3:
        keywords["window_size"] = (*call.window_size, 0)  # the third entry is the number of sink tokens
    if call.softcap:
        keywords["logits_soft_cap"] = call.softcap
    if call.wants_lse:
        keywords["return_lse"] = True
    refused = _accepts(function, keywords)
    if refused is not None:
        return f"aiter.{name} has no {refused}"
    result = function(**keywords)
    return (*result[:2], None) if call.wants_lse else result


def _flash_attn(name: str, tensors: dict[str, Any], call: _Call) -> Any:
    if not _runs_kernels(tensors["q"]):
        return "flash_attn serves half precision on a GPU"
    module = _module("flash_attn")
    function = module if isinstance(module, str) else getattr(module, name, f"this flash_attn has no {name}")
    if isinstance(function, str):
        return function
    keywords = {**tensors, **_keywords(call)}
    if call.softcap:
        keywords["softcap"] = call.softcap
    if call.wants_lse:
        keywords["return_attn_probs"] = True
    refused = _accepts(function, keywords)
    return f"flash_attn.{name} has no {refused}" if refused is not None else function(**keywords)


# ---- tiers three and four: PyTorch ---------------------------------------------------------------------------------


def _positions(q: torch.Tensor, k: torch.Tensor, lengths: torch.Tensor | None) -> tuple[Any, Any, Any]:
    """Each query's place among the keys (the last query stands at the last key), the keys' places, and their number."""
    number = k.shape[1] if lengths is None else lengths.view(-1, 1, 1, 1)
    rows = torch.arange(q.shape[1], device=q.device).view(1, 1, -1, 1) + (number - q.shape[1])
    return rows, torch.arange(k.shape[1], device=q.device).view(1, 1, 1, -1), number


def _allowed(q: torch.Tensor, k: torch.Tensor, call: _Call, lengths: torch.Tensor | None) -> torch.Tensor | None:
    """Which keys a query may see, (batch or 1, 1, queries, keys); None where it sees them all."""
    left, right = call.window
    if lengths is None and left < 0 and (right < 0 or (right == 0 and q.shape[1] == 1)):
        return None
    rows, columns, number = _positions(q, k, lengths)
    allowed: torch.Tensor = (columns < number) & (rows == rows)
    if left >= 0:
        allowed = allowed & (columns >= rows - left)
    if right >= 0:
        allowed = allowed & (columns <= rows + right)
    return allowed


def _alibi(q: torch.Tensor, k: torch.Tensor, slopes: torch.Tensor, lengths: torch.Tensor | None) -> torch.Tensor:
    rows, columns, _ = _positions(q, k, lengths)
    per_head = slopes.view(1, -1, 1, 1) if slopes.dim() == 1 else slopes.view(*slopes.shape, 1, 1)
    return -per_head * (rows - columns).abs()


def _sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, call: _Call, lengths: torch.Tensor | None) -> Any:
    if call.softcap or call.wants_lse:
        return "SDPA has neither softcap nor the log-sum-exp"
    if call.alibi_slopes is not None:
        return "SDPA would round the ALiBi bias to the inputs' precision"
    if not (q.shape[1] and k.shape[1] and q.shape[0]):
        return "SDPA is not asked about empty sequences"
    square = call.causal and lengths is None and q.shape[1] == k.shape[1] and call.window_size[0] < 0
    allowed = None if square else _allowed(q, k, call, lengths)
    if allowed is not None and torch.version.hip and torch.__version__.startswith("2.6."):
        return "torch 2.6 on ROCm computes masked SDPA wrongly (AOTriton 0.8.0)"
    queries, keys, values = (item.transpose(1, 2) for item in (q, k, v))
    extra: dict[str, Any] = {}
    if q.shape[2] != k.shape[2]:
        if "enable_gqa" in (functional.scaled_dot_product_attention.__doc__ or ""):
            extra["enable_gqa"] = True
        else:
            keys, values = (item.repeat_interleave(q.shape[2] // k.shape[2], dim=1) for item in (keys, values))
    blind = None
    if allowed is not None:
        # A query without keys gives 0 in flash-attn and NaN in a softmax: it sees all keys, then is blanked.
        blind = ~allowed.any(-1, keepdim=True)
        allowed = allowed | blind
    out = functional.scaled_dot_product_attention(
        queries, keys, values, attn_mask=allowed, dropout_p=call.dropout_p, is_causal=square,
        scale=call.softmax_scale, **extra,
    )  # fmt: skip
    if blind is not None:
        out = out.masked_fill(blind, 0.0)
    return out.transpose(1, 2)


def _eager(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, call: _Call, lengths: torch.Tensor | None) -> Any:
    batch, queries, heads, size = q.shape
    groups = k.shape[2]
    if heads % groups:
        raise ValueError(f"{heads} query heads cannot share {groups} key heads")
    kind = torch.float64 if q.dtype is torch.float64 else torch.float32
    scale = call.softmax_scale if call.softmax_scale is not None else 1.0 / math.sqrt(size)
    grouped = q.to(kind).reshape(batch, queries, groups, heads // groups, size)
    scores = torch.einsum("bqgnd,bkgd->bgnqk", grouped * scale, k.to(kind)).reshape(batch, heads, queries, k.shape[1])
    if call.softcap:
        scores = call.softcap * torch.tanh(scores / call.softcap)
    if call.alibi_slopes is not None:
        scores = scores + _alibi(q, k, call.alibi_slopes.to(kind), lengths)
    allowed = _allowed(q, k, call, lengths)
    blind = torch.zeros(1, 1, queries, 1, dtype=torch.bool, device=q.device)
    if k.shape[1] == 0:
        blind = ~blind
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
    return out, lse.to(torch.promote_types(kind, torch.float32)), weights if call.wants_probabilities else None


# ---- choosing ------------------------------------------------------------------------------------------------------


def _first(attempts: list[tuple[str, Any]], passed: list[str], otherwise: Any = None) -> Any:
    """The first implementation that serves the call. Which one, and what was passed over, is logged once."""
    global _last_tier
    forced = os.environ.get("KPT_ATTENTION_TIER")
    for tier, attempt in attempts:
        if forced and tier != forced:
            continue
        result = attempt()
        if isinstance(result, str):
            passed.append(result)
            continue
        _last_tier = tier
        if tier not in _logged:
            _logged.add(tier)
            level = logging.WARNING if tier in ("sdpa", "eager") else logging.INFO
            _log.log(level, "attention on ROCm runs on %s%s", tier, f" ({'; '.join(passed)})" if passed else "")
        return result
    if otherwise is not None and forced not in ("aiter", "flash_attn"):
        return otherwise()
    raise NotImplementedError(f"no attention for this call: {'; '.join(passed) or f'no tier named {forced!r}'}")


def _kernels(name: str, tensors: dict[str, Any], call: _Call) -> list[tuple[str, Any]]:
    return [
        ("aiter", lambda: _aiter(name, tensors, call)),
        ("flash_attn", lambda: _flash_attn(name, tensors, call)),
    ]


def _plain(q: Any, k: Any, v: Any, call: _Call, passed: list[str], lengths: torch.Tensor | None = None) -> Any:
    tiers = [("sdpa", lambda: _sdpa(q, k, v, call, lengths)), ("eager", lambda: _eager(q, k, v, call, lengths))]
    return _first(tiers, passed)


def _plain_varlen(q: Any, k: Any, v: Any, ends_q: Any, ends_k: Any, call: _Call, passed: list[str]) -> Any:
    """Sequence by sequence; all at once where they are equally long."""
    at_q, at_k = ends_q.tolist(), ends_k.tolist()
    number = len(at_q) - 1
    lengths = {(at_q[i + 1] - at_q[i], at_k[i + 1] - at_k[i]) for i in range(number)}
    if len(lengths) == 1 and 0 not in next(iter(lengths)):
        whole_q = q[: at_q[-1]].unflatten(0, (number, -1))
        whole_k, whole_v = (item[: at_k[-1]].unflatten(0, (number, -1)) for item in (k, v))
        parts = [_plain(whole_q, whole_k, whole_v, call, passed)]
    else:
        parts = []
        for i in range(number):
            rows, keys = slice(at_q[i], at_q[i + 1]), slice(at_k[i], at_k[i + 1])
            slopes = call.alibi_slopes
            if slopes is not None and slopes.dim() == 2:
                slopes = slopes[i : i + 1]
            one = replace(call, alibi_slopes=slopes)
            parts.append(_plain(q[rows][None], k[keys][None], v[keys][None], one, passed))
    if not call.wants_lse:
        return torch.cat([part.flatten(0, 1) for part in parts])
    if call.wants_probabilities:
        raise NotImplementedError("return_attn_probs with dropout over sequences of different length")
    lse = torch.cat([part[1].transpose(0, 1).flatten(1) for part in parts], dim=1)
    return torch.cat([part[0].flatten(0, 1) for part in parts]), lse, None


def _unpaged(cache: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """(pages, page size, heads, size) as (batch, keys, heads, size)."""
    pages: torch.Tensor = cache[table.clamp(min=0).long()]
    return pages.flatten(1, 2)


# ---- flash-attn's functions ----------------------------------------------------------------------------------------


def flash_attn_func(
    q: Any, k: Any, v: Any, dropout_p: float = 0.0, softmax_scale: float | None = None, causal: bool = False,
    window_size: Any = (-1, -1), softcap: float = 0.0, alibi_slopes: Any = None, deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """(batch, seqlen, heads, size) each; fewer key heads than query heads are shared; causal is bottom-right."""
    call = _call(dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic, return_attn_probs)
    passed: list[str] = []
    tiers = _kernels("flash_attn_func", {"q": q, "k": k, "v": v}, call)
    return _first(tiers, passed, lambda: _plain(q, k, v, call, passed))


def flash_attn_varlen_func(
    q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, max_seqlen_q: int, max_seqlen_k: int,
    dropout_p: float = 0.0, softmax_scale: float | None = None, causal: bool = False, window_size: Any = (-1, -1),
    softcap: float = 0.0, alibi_slopes: Any = None, deterministic: bool = False, return_attn_probs: bool = False,
    block_table: Any = None,
) -> Any:  # fmt: skip
    """(tokens, heads, size) each, sequences end to end; `block_table` makes k and v pages of a cache."""
    call = _call(dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic, return_attn_probs)
    tensors = {
        "q": q, "k": k, "v": v, "cu_seqlens_q": cu_seqlens_q, "cu_seqlens_k": cu_seqlens_k,
        "max_seqlen_q": max_seqlen_q, "max_seqlen_k": max_seqlen_k,
    }  # fmt: skip
    if block_table is not None:
        tensors["block_table"] = block_table
    passed: list[str] = []

    def otherwise() -> Any:
        keys, values = k, v
        if block_table is not None:
            sizes = (cu_seqlens_k[1:] - cu_seqlens_k[:-1]).tolist()
            keys, values = (
                torch.cat([rows[:size] for rows, size in zip(_unpaged(cache, block_table), sizes, strict=True)])
                for cache in (k, v)
            )
        return _plain_varlen(q, keys, values, cu_seqlens_q, cu_seqlens_k, call, passed)

    return _first(_kernels("flash_attn_varlen_func", tensors, call), passed, otherwise)


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
    given = {
        "k": k, "v": v, "rotary_cos": rotary_cos, "rotary_sin": rotary_sin, "cache_seqlens": cache_seqlens,
        "cache_batch_idx": cache_batch_idx, "cache_leftpad": cache_leftpad, "block_table": block_table,
        "softmax_scale": softmax_scale, "alibi_slopes": alibi_slopes,
    }  # fmt: skip
    keywords = {"q": q, "k_cache": k_cache, "v_cache": v_cache, "causal": causal, "window_size": window_size,
                "rotary_interleaved": rotary_interleaved, "num_splits": num_splits}  # fmt: skip
    keywords.update({name: value for name, value in given.items() if value is not None})
    if softcap:
        keywords["softcap"] = softcap
    if return_softmax_lse:
        keywords["return_softmax_lse"] = True
    passed: list[str] = []

    def kernel() -> Any:
        module = _module("flash_attn") if _runs_kernels(q) else "flash_attn serves half precision on a GPU"
        function = module if isinstance(module, str) else module.flash_attn_with_kvcache
        refused = None if isinstance(function, str) else _accepts(function, keywords)
        if refused is not None:
            return f"flash_attn.flash_attn_with_kvcache has no {refused}"
        return function if isinstance(function, str) else function(**keywords)

    def otherwise() -> Any:
        if cache_leftpad is not None:
            raise NotImplementedError("cache_leftpad without flash-attn's own kernel")
        batch, fresh = q.shape[0], 0 if k is None else k.shape[1]
        held = k_cache.shape[1] * (1 if block_table is None else block_table.shape[1])
        before = held - fresh if cache_seqlens is None else cache_seqlens
        before = torch.as_tensor(before, device=q.device).expand(batch)
        slots = torch.arange(batch, device=q.device) if cache_batch_idx is None else cache_batch_idx.long()
        queries, keys = q, k
        if rotary_cos is not None:
            steps = torch.arange(q.shape[1], device=q.device) if causal or tuple(window_size) != (-1, -1) else 0
            at = before[:, None] + torch.as_tensor(steps, device=q.device).expand(q.shape[1])
            queries = _rotated(q, rotary_cos, rotary_sin, at, rotary_interleaved)
        if k is not None:
            at = before[:, None] + torch.arange(fresh, device=q.device)
            if rotary_cos is not None:
                keys = _rotated(k, rotary_cos, rotary_sin, at, rotary_interleaved)
            at = at.long()
            rows, columns = slots[:, None].expand_as(at), at
            if block_table is not None:
                page = k_cache.shape[1]
                rows, columns = block_table.long().gather(1, at // page), at % page
            k_cache[rows, columns], v_cache[rows, columns] = keys.to(k_cache.dtype), v.to(v_cache.dtype)
        if block_table is not None:
            all_keys, all_values = _unpaged(k_cache, block_table), _unpaged(v_cache, block_table)
        else:
            all_keys, all_values = (c if cache_batch_idx is None else c[slots] for c in (k_cache, v_cache))
        all_keys, all_values = all_keys[:batch], all_values[:batch]
        call = _call(0.0, softmax_scale, causal, window_size, softcap, alibi_slopes, False, return_softmax_lse)
        result = _plain(queries, all_keys, all_values, call, passed, before + fresh)
        return result[:2] if return_softmax_lse else result

    return _first([("flash_attn", kernel)], passed, otherwise)


# ---- flash-attn 3's: other positions, no dropout -------------------------------------------------------------------


def _refuse(**asked: Any) -> None:
    for name, value in asked.items():
        if value is not None and value is not False and value != 0:
            raise NotImplementedError(f"flash-attn 3's {name} has no counterpart on ROCm")


def flash_attn_v3_func(
    q: Any, k: Any, v: Any, softmax_scale: float | None = None, causal: bool = False, qv: Any = None,
    q_descale: Any = None, k_descale: Any = None, v_descale: Any = None, window_size: Any = (-1, -1),
    attention_chunk: int = 0, softcap: float = 0.0, num_splits: int = 1, pack_gqa: Any = None,
    deterministic: bool = False, sm_margin: int = 0, return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """`flash_attn_interface.flash_attn_func`. num_splits, pack_gqa and sm_margin only tune, and are dropped."""
    _refuse(qv=qv, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale, attention_chunk=attention_chunk)
    out = flash_attn_func(
        q, k, v, softmax_scale=softmax_scale, causal=causal, window_size=window_size, softcap=softcap,
        deterministic=deterministic, return_attn_probs=return_attn_probs,
    )  # fmt: skip
    return out[:2] if return_attn_probs else out


def flash_attn_v3_varlen_func(
    q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, max_seqlen_q: int, max_seqlen_k: int,
    seqused_q: Any = None, seqused_k: Any = None, softmax_scale: float | None = None, causal: bool = False,
    qv: Any = None, q_descale: Any = None, k_descale: Any = None, v_descale: Any = None, window_size: Any = (-1, -1),
    attention_chunk: int = 0, softcap: float = 0.0, num_splits: int = 1, pack_gqa: Any = None,
    deterministic: bool = False, sm_margin: int = 0, return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """`flash_attn_interface.flash_attn_varlen_func`, with the same refusals."""
    _refuse(qv=qv, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale, attention_chunk=attention_chunk)
    _refuse(seqused_q=seqused_q, seqused_k=seqused_k)
    out = flash_attn_varlen_func(
        q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, softmax_scale=softmax_scale, causal=causal,
        window_size=window_size, softcap=softcap, deterministic=deterministic, return_attn_probs=return_attn_probs,
    )  # fmt: skip
    return out[:2] if return_attn_probs else out
