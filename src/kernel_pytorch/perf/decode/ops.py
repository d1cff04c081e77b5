"""The custom operators of decoding: what the passes put into a graph. On a CPU they compute the same in plain torch.

Names: torch.ops.kpt_decode.row_products, .row_gated, .attend, .attend_and_store and .decoder. Importing this module
registers nothing; `register` does, once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor
    from torch._ops import _OpNamespace as OpNamespace

NAMESPACE = "kpt_decode"
MOST_MATRICES = 3


@lru_cache(maxsize=1)
def register() -> OpNamespace:
    """Define the operators; gives torch.ops.kpt_decode."""
    import torch

    from kernel_pytorch.perf.decode.decoder_steps import Steps, in_steps

    library = torch.library.Library(NAMESPACE, "DEF")
    library.define(
        "row_products(Tensor x, Tensor[] weights, Tensor? norm, float epsilon, Tensor[] biases, Tensor? residual, "
        "bool overlaps) -> Tensor"
    )
    library.define("row_gated(Tensor x, Tensor gate, Tensor up, Tensor? norm, float epsilon, bool overlaps) -> Tensor")
    library.define(
        "attend(Tensor q, Tensor keys, Tensor values, Tensor? bias, Tensor? cos, Tensor? sin, float scale, "
        "Tensor? norm, float epsilon, float cap, bool overlaps) -> Tensor"
    )
    library.define(
        "attend_and_store(Tensor q, Tensor k, Tensor v, Tensor(a!) keys, Tensor(b!) values, Tensor position, "
        "Tensor? bias, Tensor? cos, Tensor? sin, float scale, Tensor? q_norm, Tensor? k_norm, float epsilon, "
        "float cap, bool overlaps) -> Tensor"
    )
    library.define(
        "decoder(Tensor x, Tensor[] weights, Tensor[] norms, Tensor(a!)[] caches, Tensor head, Tensor position, "
        "Tensor? bias, Tensor cos, Tensor sin, float scale, float epsilon) -> Tensor"
    )

    def normed(x: Tensor, norm: Tensor | None, epsilon: float) -> Tensor:
        wide = x.float()
        if norm is not None:
            wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon) * norm.float()
        return wide

    def row_products(
        x: Tensor,
        weights: list[Tensor],
        norm: Tensor | None,
        epsilon: float,
        biases: list[Tensor],
        residual: Tensor | None,
        overlaps: bool,
    ) -> Tensor:
        out = normed(x, norm, epsilon) @ torch.cat([one.float() for one in weights]).t()
        out = out + torch.cat([one.float() for one in biases]) if biases else out
        out = out if residual is None else out + residual.float().reshape(out.shape)
        return out.to(x.dtype)

    def row_gated(x: Tensor, gate: Tensor, up: Tensor, norm: Tensor | None, epsilon: float, overlaps: bool) -> Tensor:
        wide = normed(x, norm, epsilon)
        return (torch.nn.functional.silu(wide @ gate.float().t()) * (wide @ up.float().t())).to(x.dtype)

    def rotated(
        x: Tensor, cos: Tensor | None, sin: Tensor | None, norm: Tensor | None = None, epsilon: float = 0.0
    ) -> Tensor:
        wide = normed(x, norm, epsilon)
        if cos is None or sin is None:
            return wide
        turned, rest = wide[..., : cos.numel()], wide[..., cos.numel() :]  # all of it, or the first of it
        half = cos.numel() // 2
        turned = turned * cos.float() + torch.cat((-turned[..., half:], turned[..., :half]), -1) * sin.float()
        return torch.cat((turned, rest), -1)

    def attend(
        q: Tensor,
        keys: Tensor,
        values: Tensor,
        bias: Tensor | None,
        cos: Tensor | None,
        sin: Tensor | None,
        scale: float,
        norm: Tensor | None,
        epsilon: float,
        cap: float,
        overlaps: bool,
    ) -> Tensor:
        group = q.shape[1] // keys.shape[1]
        k, v = (one.float().repeat_interleave(group, 1) for one in (keys, values))
        scores = scale * rotated(q, cos, sin, norm, epsilon) @ k.transpose(-1, -2)
        scores = cap * torch.tanh(scores / cap) if cap else scores
        scores = scores if bias is None else scores + bias.float()
        return (scores.softmax(-1) @ v).to(q.dtype)

    def attend_and_store(
        q: Tensor,
        k: Tensor,
        v: Tensor,
        keys: Tensor,
        values: Tensor,
        position: Tensor,
        bias: Tensor | None,
        cos: Tensor | None,
        sin: Tensor | None,
        scale: float,
        q_norm: Tensor | None,
        k_norm: Tensor | None,
        epsilon: float,
        cap: float,
        overlaps: bool,
    ) -> Tensor:
        keys.index_copy_(2, position.view(1), rotated(k, cos, sin, k_norm, epsilon).to(keys.dtype))
        values.index_copy_(2, position.view(1), v)
        return attend(q, keys, values, bias, cos, sin, scale, q_norm, epsilon, cap, overlaps)

    from kernel_pytorch.perf.decode import launch, one_kernel

    for name, on_cpu, on_gpu in (
        ("row_products", row_products, launch.row_products),
        ("row_gated", row_gated, launch.row_gated),
        ("attend", attend, launch.attend),
        ("attend_and_store", attend_and_store, launch.attend_and_store),
        ("decoder", partial(in_steps, Steps(row_products, row_gated, attend_and_store)), one_kernel.decoder),
    ):
        library.impl(name, on_cpu, "CPU")
        library.impl(name, on_gpu, "CUDA")

    def one_row(x: Tensor, rows: int) -> Tensor:
        return x.new_empty((1, rows))

    fakes: dict[str, Callable[..., Tensor]] = {
        "row_products": lambda x, weights, *rest: one_row(x, sum(one.shape[0] for one in weights)),
        "row_gated": lambda x, gate, *rest: one_row(x, gate.shape[0]),
        "attend": lambda q, *rest: q.new_empty(q.shape),
        "attend_and_store": lambda q, *rest: q.new_empty(q.shape),
        "decoder": lambda x, weights, norms, caches, head, *rest: one_row(x, head.shape[0]),
    }
    for name, fake in fakes.items():
        torch.library.register_fake(f"{NAMESPACE}::{name}", fake, lib=library)
    _kept.append(library)
    return getattr(torch.ops, NAMESPACE)


_kept: list[object] = []  # an operator lives as long as the library object that defined it
