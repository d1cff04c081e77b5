"""The attention adapter's PyTorch tiers on an NVIDIA GPU: real SDPA kernels in half precision against fp64.

aiter and flash-attn's ROCm build cannot run here; flash-attn itself is compared with where it is installed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from kernel_pytorch.port.templates import rocm_attention as adapter
from tests.port.templates.reference_attention import inputs, reference

pytestmark = pytest.mark.nvidia
SHAPES = [
    (64, 64, 8, 8),
    (64, 64, 8, 2),
    (1, 96, 8, 2),
    (33, 80, 8, 1),
    (80, 33, 4, 4),
]  # queries, keys, heads, key heads
WINDOWS = [(-1, -1), (16, 0), (7, 9)]


@contextmanager
def tier(name: str) -> Iterator[None]:
    """The tier asked for; flash-attn of CUDA must not answer for the adapter's second tier."""
    adapter._FORCED = name
    adapter._choose.cache_clear()
    try:
        yield
    finally:
        adapter._FORCED = None
        adapter._choose.cache_clear()


def near(result: torch.Tensor, expected: torch.Tensor, dtype: torch.dtype, what: str, roundings: int = 8) -> None:
    """Within a few roundings of the largest value; fp32 kernels also add up in fp32, so they get more."""
    error = (result.double() - expected).abs().max().item()
    if dtype is torch.float32:
        roundings *= 16
    limit = roundings * torch.finfo(dtype).eps * max(1.0, expected.abs().max().item())
    assert error <= limit, f"{what}: error {error:.3g} is above {limit:.3g}"


def test_dense_forward_and_backward() -> None:
    for name in ("sdpa", "eager"):
        for dtype in (torch.bfloat16, torch.float16, torch.float32):
            for queries, keys, heads, key_heads in SHAPES:
                for window in WINDOWS:
                    for causal in (False, True):
                        one_dense(name, dtype, (queries, keys, heads, key_heads), window, causal)


def one_dense(name: str, dtype: torch.dtype, shape: tuple[int, ...], window: tuple[int, int], causal: bool) -> None:
    what = f"{name} {dtype} {shape} window {window} causal {causal}"
    q, k, v = (item.requires_grad_() for item in inputs(2, *shape[:2], *shape[2:], 64, dtype, device="cuda"))
    with tier(name):
        out = adapter.flash_attn_func(q, k, v, causal=causal, window_size=window)
    assert adapter.last_tier() == name
    exact = [item.detach().double().requires_grad_() for item in (q, k, v)]
    expected, _ = vectorised(*exact, causal=causal, window=window)
    near(out, expected, dtype, what)
    weight = torch.randn_like(out)
    ours = torch.autograd.grad((out * weight).sum(), (q, k, v))
    theirs = torch.autograd.grad((expected * weight.double()).sum(), exact)
    for mine, other in zip(ours, theirs, strict=True):
        assert torch.isfinite(mine).all(), f"{what}: the gradient is not finite"
        near(mine, other, dtype, what + " gradient", roundings=16)


def vectorised(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, window: tuple[int, int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """fp64 attention with an explicit mask; checked against the one-query-at-a-time reference below."""
    share = q.shape[2] // k.shape[2]
    k, v = k.repeat_interleave(share, 2), v.repeat_interleave(share, 2)
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
    place = torch.arange(q.shape[1], device=q.device)[:, None] + k.shape[1] - q.shape[1]
    key = torch.arange(k.shape[1], device=q.device)[None]
    left, right = window[0], 0 if causal else window[1]
    hidden = torch.zeros_like(place == key)
    hidden |= (key < place - left) if left >= 0 else False
    hidden |= (key > place + right) if right >= 0 else False
    blind = hidden.all(1)
    weights = scores.masked_fill(hidden & ~blind[:, None], float("-inf")).softmax(-1).masked_fill(blind[:, None], 0.0)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v), scores


def test_the_reference_is_right() -> None:
    for causal in (False, True):
        q, k, v = inputs(1, 9, 6, 4, 2, 16, device="cuda")
        expected = reference(q, k, v, causal=causal, window=(3, 2))[0]
        torch.testing.assert_close(vectorised(q, k, v, causal, (3, 2))[0], expected)


def test_softcap_alibi_and_lse_fall_to_eager() -> None:
    q, k, v = inputs(2, 24, 40, 4, 2, 64, torch.bfloat16, device="cuda")
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.06], device="cuda")
    out, lse, _ = adapter.flash_attn_func(
        q, k, v, causal=True, softcap=20.0, alibi_slopes=slopes, return_attn_probs=True
    )
    expected, expected_lse = reference(q, k, v, causal=True, softcap=20.0, alibi=slopes)
    near(out, expected, torch.bfloat16, "softcap and ALiBi")
    near(lse, expected_lse, torch.bfloat16, "log-sum-exp")


def test_varlen() -> None:
    pairs = [(17, 17), (64, 64), (1, 50)]
    single = [inputs(1, queries, keys, 8, 2, 64, torch.bfloat16, device="cuda") for queries, keys in pairs]
    q, k, v = (torch.cat([item[part][0] for item in single]) for part in range(3))
    ends = [
        torch.tensor([0, *(pair[side] for pair in pairs)], device="cuda").cumsum(0, dtype=torch.int32)
        for side in (0, 1)
    ]
    with tier("sdpa"):
        out = adapter.flash_attn_varlen_func(q, k, v, *ends, 64, 64, causal=True)
    near(out, torch.cat([reference(*one, causal=True)[0][0] for one in single]), torch.bfloat16, "varlen")


def test_decoding_is_captured_in_a_graph() -> None:
    """The cache's length is a tensor and stays one: nothing on the way asks the host for it."""
    cache_k, cache_v = (torch.zeros(2, 64, 2, 64, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    q, k, v = inputs(2, 1, 1, 8, 2, 64, torch.bfloat16, device="cuda")
    held = torch.tensor([3, 5], device="cuda", dtype=torch.int32)

    def step() -> torch.Tensor:
        out: torch.Tensor = adapter.flash_attn_with_kvcache(q, cache_k, cache_v, k, v, cache_seqlens=held, causal=True)
        return out

    with tier("sdpa"):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = step()
        torch.manual_seed(7)
        for tensor in (q, k, v, cache_k, cache_v):
            tensor.copy_(torch.randn_like(tensor))
        held += 4
        before = (cache_k.clone(), cache_v.clone())
        graph.replay()
        torch.cuda.synchronize()
        result = captured.clone()
        cache_k.copy_(before[0])
        cache_v.copy_(before[1])
        torch.testing.assert_close(result, step())


def test_flash_attn_itself_agrees() -> None:
    if importlib.util.find_spec("flash_attn") is None:
        pytest.skip("flash_attn is not installed here")
    from flash_attn import flash_attn_func

    for queries, keys, heads, key_heads in SHAPES:
        for window in WINDOWS:
            q, k, v = inputs(2, queries, keys, heads, key_heads, 64, torch.bfloat16, device="cuda")
            theirs = flash_attn_func(q, k, v, 0.0, None, True, window)
            with tier("sdpa"):
                ours = adapter.flash_attn_func(q, k, v, 0.0, None, True, window)
            near(ours, theirs.double(), torch.bfloat16, f"flash_attn {queries, keys, heads, key_heads, window}")
