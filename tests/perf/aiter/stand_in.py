"""A stand-in for aiter: torch.ops.aiter with the signatures of its documentation, computed in plain torch."""

# ruff: noqa: N803
from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

GEMM = (
    "gemm_a16w16(Tensor A, Tensor B, Tensor? bias=None, ScalarType? otype=None, Tensor? scale_a=None, "
    "Tensor? scale_b=None, Tensor? scale_c=None) -> Tensor"
)
ATTENTION = (
    "mha_fwd(Tensor q, Tensor k, Tensor v, float dropout_p, float softmax_scale, bool is_causal, "
    "SymInt window_size_left, SymInt window_size_right, SymInt sink_size, bool return_softmax_lse, "
    "bool return_dropout_randval, Tensor? cu_seqlens_q=None, Tensor? cu_seqlens_kv=None, Tensor? out=None, "
    "Tensor? bias=None, Tensor? alibi_slopes=None, Tensor? q_descale=None, Tensor? k_descale=None, "
    "Tensor? v_descale=None, Tensor? sink_ptr=None, Generator? gen=None) -> (Tensor, Tensor, Tensor, Tensor)"
)


def shuffle_weight(x: torch.Tensor, layout: tuple[int, int] = (16, 16), use_int4: bool = False) -> torch.Tensor:
    """As aiter lays a weight out for its assembler kernels: blocks of 16 rows by 32 bytes."""
    rows, block = layout[0], layout[1] * 2 // 2
    n, k = x.shape
    per_line = 16 // x.element_size()
    view = x.view(n // rows, rows, k // block, block // per_line, per_line)
    return view.permute(0, 2, 3, 1, 4).contiguous().view(n, k)


def unshuffled(x: torch.Tensor) -> torch.Tensor:
    n, k = x.shape
    per_line = 16 // x.element_size()
    view = x.view(n // 16, k // 16, 16 // per_line, 16, per_line)
    return view.permute(0, 3, 1, 2, 4).contiguous().view(n, k)


@contextmanager
def installed(calls: list[Any]) -> Iterator[None]:
    """aiter is there: its package (for shuffle_weight) and its operators; `calls` gets what they were called with."""
    library = torch.library.Library("aiter", "FRAGMENT")
    library.define(GEMM)
    library.define(ATTENTION)

    def gemm(A: Any, B: Any, bias: Any = None, *rest: Any) -> Any:
        is_shuffled = getattr(B, "is_shuffled", False)
        calls.append(("gemm", tuple(A.shape), is_shuffled))
        return torch.nn.functional.linear(A, unshuffled(B) if is_shuffled else B, bias)

    def attention(q: Any, k: Any, v: Any, dropout: float, scale: float, causal: bool, *rest: Any) -> Any:
        calls.append(("attention", tuple(q.shape), tuple(k.shape), causal))
        q, k, v = (one.transpose(1, 2) for one in (q, k, v))
        mask = None
        if causal:  # bottom right
            mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, scale=scale, enable_gqa=True)
        none = q.new_empty(0)
        return out.transpose(1, 2).contiguous(), none, none.clone(), torch.empty(2, dtype=torch.int64)

    library.impl("gemm_a16w16", gemm, "CPU")
    library.impl("mha_fwd", attention, "CPU")
    torch.library.register_fake(
        "aiter::gemm_a16w16", lambda A, B, *rest: A.new_empty((*A.shape[:-1], B.shape[0])), lib=library
    )
    torch.library.register_fake(
        "aiter::mha_fwd",
        lambda q, k, v, *rest: (
            torch.empty_like(q),
            q.new_empty(0),
            q.new_empty(0),
            torch.empty(2, dtype=torch.int64, device=q.device),
        ),
        lib=library,
    )
    names = ("aiter", "aiter.ops", "aiter.ops.shuffle")
    modules = {name: types.ModuleType(name) for name in names}
    modules["aiter"].__spec__ = types.SimpleNamespace(submodule_search_locations=[])  # type: ignore[assignment]
    modules["aiter.ops.shuffle"].shuffle_weight = shuffle_weight  # type: ignore[attr-defined]
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in names:
            sys.modules.pop(name, None)
        library._destroy()
        for name in ("gemm_a16w16", "mha_fwd"):
            if name in torch.ops.aiter.__dict__:
                delattr(torch.ops.aiter, name)
