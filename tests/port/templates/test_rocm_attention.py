"""The attention adapter against fp64 on the CPU, and what it says to aiter and flash_attn."""

from __future__ import annotations

import logging
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from kernel_pytorch.port.templates import rocm_attention as adapter
from tests.port.templates.reference_attention import inputs, reference

SHAPES = [(5, 5, 4), (6, 6, 1), (1, 9, 2), (3, 7, 4), (7, 3, 2)]  # queries, keys, key heads
WINDOWS = [(-1, -1), (0, 0), (3, 2), (-1, 1), (2, -1)]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(adapter, "_logged", set())
    monkeypatch.setattr(adapter, "_last_tier", None)
    ask_for(monkeypatch, None)
    for name in ("aiter", "flash_attn"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it raises ImportError
    yield


def ask_for(monkeypatch: pytest.MonkeyPatch, tier: str | None) -> None:
    """As KPT_ATTENTION_TIER does when the file is imported; what was chosen before is forgotten."""
    monkeypatch.setattr(adapter, "_FORCED", tier)
    for known in (adapter._choose, adapter._entry):
        known.cache_clear()


@pytest.mark.parametrize("tier", ["sdpa", "eager"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("queries", "keys", "key_heads"), SHAPES)
def test_dense(
    queries: int, keys: int, key_heads: int, window: tuple[int, int], causal: bool, tier: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    ask_for(monkeypatch, tier)
    q, k, v = (item.requires_grad_() for item in inputs(2, queries, keys, 4, key_heads, 8))
    out = adapter.flash_attn_func(q, k, v, causal=causal, window_size=window)
    expected, _ = reference(q, k, v, causal=causal, window=window)
    torch.testing.assert_close(out, expected, rtol=1e-9, atol=1e-9)
    assert adapter.last_tier() == tier
    weight = torch.randn(out.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    ours = torch.autograd.grad((out * weight).sum(), (q, k, v))
    theirs = torch.autograd.grad((expected * weight).sum(), (q, k, v), allow_unused=True)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other if other is not None else torch.zeros_like(mine), rtol=1e-8, atol=1e-8)


def test_bottom_right_differs_from_what_sdpa_calls_causal() -> None:
    q, k, v = inputs(1, 1, 6, 2, 2, 8)
    out = adapter.flash_attn_func(q, k, v, causal=True)
    assert not torch.allclose(out, v[:, :1]), "top-left alignment would give the first value"
    torch.testing.assert_close(out, reference(q, k, v, causal=False)[0])


@pytest.mark.parametrize("softcap", [0.0, 1.5])
@pytest.mark.parametrize("per_batch", [False, True])
@pytest.mark.parametrize(("queries", "keys", "key_heads"), SHAPES)
def test_alibi_softcap_scale_and_lse(queries: int, keys: int, key_heads: int, per_batch: bool, softcap: float) -> None:
    q, k, v = inputs(2, queries, keys, 4, key_heads, 8)
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.06])
    slopes = torch.stack([slopes, slopes * 2]) if per_batch else slopes
    out, lse, probabilities = adapter.flash_attn_func(
        q, k, v, softmax_scale=0.3, causal=True, softcap=softcap, alibi_slopes=slopes, return_attn_probs=True
    )
    expected, expected_lse = reference(q, k, v, scale=0.3, causal=True, softcap=softcap, alibi=slopes)
    torch.testing.assert_close(out, expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(lse.double(), expected_lse, rtol=1e-6, atol=1e-6)
    assert probabilities is None and adapter.last_tier() == "eager"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("tier", ["sdpa", "eager"])
def test_precisions(dtype: torch.dtype, tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_for(monkeypatch, tier)
    q, k, v = inputs(2, 33, 47, 4, 2, 16, dtype)
    out = adapter.flash_attn_func(q, k, v, causal=True)
    assert out.dtype is dtype
    expected = reference(q, k, v, causal=True)[0]
    torch.testing.assert_close(out.double(), expected, rtol=0, atol=4 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("tier", ["sdpa", "eager"])
@pytest.mark.parametrize(
    "lengths", [[(3, 3), (5, 5)], [(4, 4), (4, 4)], [(1, 7), (2, 5), (6, 2)], [(3, 0), (2, 2)], [(0, 3), (2, 4)]]
)
def test_varlen_is_each_sequence_by_itself(
    lengths: list[tuple[int, int]], tier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = any(0 in pair for pair in lengths)
    ask_for(monkeypatch, "eager" if empty else tier)
    single = [inputs(1, queries, keys, 4, 2, 8) for queries, keys in lengths]
    q, k, v = (torch.cat([item[part][0] for item in single]) for part in range(3))
    ends_q = torch.tensor([0, *(q for q, _ in lengths)], dtype=torch.int32).cumsum(0, dtype=torch.int32)
    ends_k = torch.tensor([0, *(k for _, k in lengths)], dtype=torch.int32).cumsum(0, dtype=torch.int32)
    longest = (max(q for q, _ in lengths), max(k for _, k in lengths))
    out = adapter.flash_attn_varlen_func(q, k, v, ends_q, ends_k, *longest, 0.0, None, True, (3, 0))
    expected = torch.cat([reference(*one, causal=True, window=(3, 0))[0][0] for one in single])
    torch.testing.assert_close(out, expected, rtol=1e-9, atol=1e-9)
    kv = torch.stack([k, v], 1)
    packed = adapter.flash_attn_varlen_kvpacked_func(q, kv, ends_q, ends_k, *longest, causal=True, window_size=(3, 0))
    torch.testing.assert_close(packed, out)


def test_varlen_lse_and_alibi_per_sequence() -> None:
    single = [inputs(1, 2, 5, 4, 4, 8), inputs(1, 3, 3, 4, 4, 8)]
    q, k, v = (torch.cat([item[part][0] for item in single]) for part in range(3))
    slopes = torch.rand(2, 4, generator=torch.Generator().manual_seed(1))
    ends = torch.tensor([0, 2, 5]), torch.tensor([0, 5, 8])
    out, lse, _ = adapter.flash_attn_varlen_func(
        q, k, v, *ends, 3, 5, causal=True, alibi_slopes=slopes, return_attn_probs=True
    )
    parts = [reference(*one, causal=True, alibi=slopes[i : i + 1]) for i, one in enumerate(single)]
    torch.testing.assert_close(out, torch.cat([part[0][0] for part in parts]), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(lse.double(), torch.cat([part[1][0] for part in parts], 1), rtol=1e-6, atol=1e-6)


def test_packed_forms() -> None:
    q, k, v = inputs(2, 6, 6, 4, 4, 8)
    expected = reference(q, k, v, causal=True)[0]
    torch.testing.assert_close(adapter.flash_attn_qkvpacked_func(torch.stack([q, k, v], 2), causal=True), expected)
    torch.testing.assert_close(adapter.flash_attn_kvpacked_func(q, torch.stack([k, v], 2), 0.0, None, True), expected)
    flat = torch.stack([q, k, v], 2).flatten(0, 1)
    out = adapter.flash_attn_varlen_qkvpacked_func(flat, torch.tensor([0, 6, 12]), 6, causal=True)
    torch.testing.assert_close(out, expected.flatten(0, 1))


def test_paged_keys() -> None:
    q, k, v = inputs(2, 3, 8, 4, 2, 8)
    table = torch.tensor([[3, 0], [1, 2]])
    pages_k, pages_v = (torch.zeros(4, 4, 2, 8, dtype=torch.float64) for _ in range(2))
    for row in range(2):
        pages_k[table[row]], pages_v[table[row]] = k[row].view(2, 4, 2, 8), v[row].view(2, 4, 2, 8)
    out = adapter.flash_attn_varlen_func(
        q.flatten(0, 1), pages_k, pages_v, torch.tensor([0, 3, 6]), torch.tensor([0, 6, 14]), 3, 8, causal=True,
        block_table=table,
    )  # fmt: skip
    expected = [reference(q[:1], k[:1, :6], v[:1, :6], causal=True)[0], reference(q[1:], k[1:], v[1:], causal=True)[0]]
    torch.testing.assert_close(out, torch.cat(expected).flatten(0, 1))


def test_dropout_is_applied_as_given_and_keeps_the_mean() -> None:
    torch.manual_seed(0)
    q, k, v = inputs(1, 64, 64, 2, 2, 8, torch.float32)
    out, _, pattern = adapter.flash_attn_func(q, k, v, 0.5, return_attn_probs=True)
    dropped = (pattern < 0).double().mean().item()
    assert 0.4 < dropped < 0.6
    rebuilt = torch.einsum("bhqk,bkhd->bqhd", pattern.clamp(min=0) * 2, v)
    torch.testing.assert_close(out, rebuilt, rtol=1e-5, atol=1e-5)
    assert not torch.equal(adapter.flash_attn_func(q, k, v, 0.5), adapter.flash_attn_func(q, k, v, 0.5))


@pytest.mark.parametrize("rotary", [None, True, False])
@pytest.mark.parametrize("paged", [False, True])
@pytest.mark.parametrize("fresh_keys", [0, 1, 3])
def test_kvcache(fresh_keys: int, paged: bool, rotary: bool | None) -> None:
    if rotary is not None and not fresh_keys:
        pytest.skip("flash-attn turns queries only together with new keys")
    held = torch.tensor([4, 6], dtype=torch.int32)
    q, old_k, old_v = inputs(2, max(fresh_keys, 1), 12, 4, 2, 8)
    _, new_k, new_v = inputs(2, 2, max(fresh_keys, 1), 4, 2, 8)
    angles = torch.rand(12, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    table = torch.tensor([[5, 0, 3], [1, 2, 4]], dtype=torch.int32)
    cache_k, cache_v = old_k.clone(), old_v.clone()
    if paged:
        cache_k, cache_v = (torch.zeros(6, 4, 2, 8, dtype=torch.float64) for _ in range(2))
        for row in range(2):
            cache_k[table[row].long()] = old_k[row].view(3, 4, 2, 8)
            cache_v[table[row].long()] = old_v[row].view(3, 4, 2, 8)
    extra: dict[str, Any] = {"block_table": table} if paged else {}
    if fresh_keys:
        extra |= {"k": new_k, "v": new_v}
    if rotary is not None:
        extra |= {"rotary_cos": angles.cos(), "rotary_sin": angles.sin(), "rotary_interleaved": rotary}
    out, lse = adapter.flash_attn_with_kvcache(
        q, cache_k, cache_v, cache_seqlens=held, causal=True, return_softmax_lse=True, **extra
    )
    for row in range(2):
        start, total = int(held[row]), int(held[row]) + fresh_keys
        keys, values, query = old_k[row].clone(), old_v[row].clone(), q[row].clone()
        if fresh_keys:
            keys[start:total], values[start:total] = new_k[row], new_v[row]
        if rotary is not None:
            for step in range(fresh_keys):
                keys[start + step] = turned(new_k[row, step], angles[start + step], rotary)
                query[step] = turned(q[row, step], angles[start + step], rotary)
        expected, expected_lse = reference(query[None], keys[None, :total], values[None, :total], causal=True)
        torch.testing.assert_close(out[row], expected[0])
        torch.testing.assert_close(lse[row].double(), expected_lse[0], rtol=1e-5, atol=1e-5)
        stored = cache_k[table[row].long()].flatten(0, 1) if paged else cache_k[row]
        torch.testing.assert_close(stored[:total], keys[:total])


def turned(x: torch.Tensor, angles: torch.Tensor, interleaved: bool) -> torch.Tensor:
    """Rotary embedding as a complex product, (heads, size)."""
    pairs = x.view(-1, 4, 2) if interleaved else torch.stack(x.chunk(2, -1), -1)
    turn = torch.polar(torch.ones_like(angles), angles)
    product = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * turn)
    return product.flatten(-2) if interleaved else torch.cat(product.unbind(-1), -1)


def test_what_is_not_known_is_refused_by_name() -> None:
    q, k, v = inputs(1, 2, 2, 2, 2, 8)
    with pytest.raises(TypeError, match="sink_tokens"):
        adapter.flash_attn_func(q, k, v, sink_tokens=4)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="sink_tokens"):
        adapter.flash_attn_qkvpacked_func(torch.stack([q, k, v], 2), sink_tokens=4)
    with pytest.raises(NotImplementedError, match="cache_leftpad"):
        adapter.flash_attn_with_kvcache(q, k, v, cache_leftpad=torch.zeros(1))
    with pytest.raises(NotImplementedError, match="attention_chunk"):
        adapter.flash_attn_v3_func(q, k, v, attention_chunk=2)
    with pytest.raises(NotImplementedError, match="q_descale"):
        adapter.flash_attn_v3_func(q, k, v, None, True, None, torch.zeros(2, 2))


def test_version_three_has_the_scale_where_two_has_dropout() -> None:
    q, k, v = inputs(1, 4, 4, 2, 2, 8)
    out, lse = adapter.flash_attn_v3_func(q, k, v, 0.2, True, return_attn_probs=True)
    expected, expected_lse = reference(q, k, v, scale=0.2, causal=True)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(lse.double(), expected_lse, rtol=1e-6, atol=1e-6)
    flat = [item[0] for item in (q, k, v)]
    ends = torch.tensor([0, 4])
    packed = adapter.flash_attn_v3_varlen_func(*flat, ends, ends, 4, 4, None, None, 0.2, True)
    torch.testing.assert_close(packed, expected[0])


def test_the_tier_is_logged_once_with_what_was_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    q, k, v = inputs(1, 2, 2, 2, 2, 8)
    with caplog.at_level(logging.INFO):
        adapter.flash_attn_func(q, k, v)
        adapter.flash_attn_func(q, k, v)
    (record,) = caplog.records
    assert "runs on sdpa" in record.getMessage() and "half precision" in record.getMessage()


def test_a_forced_tier_that_cannot_serve_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = inputs(1, 2, 2, 2, 2, 8)
    ask_for(monkeypatch, "sdpa")
    with pytest.raises(NotImplementedError, match="softcap"):
        adapter.flash_attn_func(q, k, v, softcap=2.0)
    ask_for(monkeypatch, "aiter")
    with pytest.raises(NotImplementedError, match="half precision"):
        adapter.flash_attn_func(q, k, v)


# ---- what aiter and flash_attn are told ------------------------------------------------------------------------------


Heard = list[tuple[str, tuple[Any, ...], dict[str, Any]]]


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, target: str = "gfx942") -> Heard:
    """A module whose functions have the real signatures and write down how they were called."""
    heard: Heard = []

    def note(function: str, q: Any, *args: Any, **kwargs: Any) -> Any:
        heard.append((function, args, kwargs))
        lse = torch.zeros(1)
        return (q, lse) if kwargs.get("return_lse") else (q, lse, None) if kwargs.get("return_attn_probs") else q

    def aiter_dense(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1, 0), bias=None,
                    alibi_slopes=None, deterministic=True, return_lse=False, return_attn_probs=False):  # type: ignore[no-untyped-def]  # fmt: skip
        return note("dense", q, **{key: value for key, value in locals().items() if key not in ("q", "note")})

    def aiter_varlen(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, min_seqlen_q=0, dropout_p=0.0,
                     softmax_scale=None, logits_soft_cap=0.0, causal=False, window_size=(-1, -1, 0), bias=None,
                     alibi_slopes=None, deterministic=False, return_lse=False, return_attn_probs=False,
                     block_table=None):  # type: ignore[no-untyped-def]  # fmt: skip
        return note("varlen", q, **{key: value for key, value in locals().items() if key not in ("q", "note")})

    def flash_dense(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
                    alibi_slopes=None, deterministic=False, return_attn_probs=False):  # type: ignore[no-untyped-def]  # fmt: skip
        return note("dense", q, **{key: value for key, value in locals().items() if key not in ("q", "note")})

    module = types.ModuleType(name)
    dense = aiter_dense if name == "aiter" else flash_dense
    module.flash_attn_func = dense  # type: ignore[attr-defined]
    if name == "aiter":
        module.flash_attn_varlen_func = aiter_varlen  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(adapter, "_runs_kernels", lambda device, dtype: True)
    monkeypatch.setattr(adapter, "_target", lambda device: target)
    return heard


def test_positional_softcap_never_becomes_aiters_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = stand_in(monkeypatch, "aiter")
    q, k, v = inputs(1, 3, 3, 2, 2, 8)
    adapter.flash_attn_func(q, k, v, 0.1, 0.5, True, (4, 0), 0.0, None, False)
    (name, positional, told) = heard[0]
    assert positional == () and name == "dense" and adapter.last_tier() == "aiter"
    assert told["bias"] is None and told["dropout_p"] == 0.1 and told["softmax_scale"] == 0.5
    assert told["window_size"] == (4, 0, 0) and told["deterministic"] is False
    adapter.flash_attn_func(q, k, v, 0.0, None, True, (-1, -1), 30.0)
    assert len(heard) == 1 and adapter.last_tier() == "eager", "dense aiter has no softcap"


def test_positional_dropout_never_becomes_aiters_min_seqlen(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = stand_in(monkeypatch, "aiter")
    q, k, v = (item[0] for item in inputs(1, 3, 3, 2, 2, 8))
    ends = torch.tensor([0, 3], dtype=torch.int32)
    out = adapter.flash_attn_varlen_func(q, k, v, ends, ends, 3, 3, 0.25, None, True, (-1, -1), 20.0)
    told = heard[0][2]
    assert told["min_seqlen_q"] == 0 and told["dropout_p"] == 0.25 and told["logits_soft_cap"] == 20.0
    assert out is q and adapter.last_tier() == "aiter"


def test_lse_comes_back_as_three(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "aiter")
    q, k, v = inputs(1, 3, 3, 2, 2, 8)
    out, _, pattern = adapter.flash_attn_func(q, k, v, return_attn_probs=True)
    assert pattern is None and out is q


def test_aiter_is_not_asked_on_radeon(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = stand_in(monkeypatch, "aiter", "gfx1100")
    adapter.flash_attn_func(*inputs(1, 3, 3, 2, 2, 8))
    assert not heard and adapter.last_tier() == "sdpa"


def test_flash_attn_of_rocm_comes_second(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = stand_in(monkeypatch, "flash_attn", "gfx1100")
    q, k, v = inputs(1, 3, 3, 2, 2, 8)
    adapter.flash_attn_func(q, k, v, 0.0, None, True, (-1, -1), 30.0)
    assert adapter.last_tier() == "flash_attn" and heard[0][1] == () and heard[0][2]["softcap"] == 30.0


def test_an_older_signature_is_passed_over_by_name(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stand_in(monkeypatch, "flash_attn", "gfx1100")

    def without_softcap(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, deterministic=False):  # type: ignore[no-untyped-def]
        return q

    sys.modules["flash_attn"].flash_attn_func = without_softcap  # type: ignore[attr-defined]
    q, k, v = inputs(1, 3, 3, 2, 2, 8)
    with caplog.at_level(logging.INFO):
        out = adapter.flash_attn_func(q, k, v, softcap=2.0)
    assert "flash_attn_func has no softcap" in caplog.text
    torch.testing.assert_close(out, reference(q, k, v, softcap=2.0)[0])
