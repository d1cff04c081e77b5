"""The custom operators of decoding: what the passes put into a graph. On a CPU they compute the same in plain torch.

Names: torch.ops.kpt_decode.row_products, .row_gated, .attend, .attend_and_store and .decoder. Importing this module
registers nothing; `register` does, once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from kernel_pytorch.perf.decode.form import extras_of

if TYPE_CHECKING:
    from torch import Tensor
    from torch._ops import _OpNamespace as OpNamespace

    from kernel_pytorch.perf.decode.decoder_steps import Steps

NAMESPACE = "kpt_decode"
MOST_MATRICES = 3


@lru_cache(maxsize=1)
def register() -> OpNamespace:
    """Define the operators; gives torch.ops.kpt_decode."""
    import torch

    from kernel_pytorch.perf.decode.decoder_steps import Steps
    from kernel_pytorch.perf.decode.plainly import attend, attend_and_store, row_gated, row_products

    library = torch.library.Library(NAMESPACE, "DEF")
    library.define(
        "row_products(Tensor x, Tensor[] weights, Tensor? norm, float epsilon, Tensor[] biases, Tensor? residual, "
        "bool overlaps, float plus=0.0) -> Tensor"
    )
    library.define(
        "row_gated(Tensor x, Tensor gate, Tensor up, Tensor? norm, float epsilon, bool overlaps, float plus=0.0, "
        'str active="silu") -> Tensor'
    )
    library.define(
        "attend(Tensor q, Tensor keys, Tensor values, Tensor? bias, Tensor? cos, Tensor? sin, float scale, "
        "Tensor? norm, float epsilon, float cap, bool overlaps, float plus=0.0, bool neighbours=False) -> Tensor"
    )
    library.define(
        "attend_and_store(Tensor q, Tensor k, Tensor v, Tensor(a!) keys, Tensor(b!) values, Tensor position, "
        "Tensor? bias, Tensor? cos, Tensor? sin, float scale, Tensor? q_norm, Tensor? k_norm, float epsilon, "
        "float cap, bool overlaps, float plus=0.0, bool neighbours=False) -> Tensor"
    )
    library.define(
        "decoder(Tensor x, Tensor[] weights, Tensor[] norms, Tensor(a!)[] caches, Tensor head, Tensor position, "
        "Tensor? bias, Tensor cos, Tensor sin, float scale, float epsilon, Tensor[]? biases=None, "
        "Tensor[]? head_norms=None, Tensor[]? after_norms=None, Tensor[]? other=None, int[]? local=None, "
        'str gate="silu", float cap=0.0, float norm_plus=0.0, bool neighbours=False) -> Tensor'
    )

    from kernel_pytorch.perf.decode import launch, one_kernel

    for name, on_cpu, on_gpu in (
        ("row_products", row_products, launch.row_products),
        ("row_gated", row_gated, launch.row_gated),
        ("attend", attend, launch.attend),
        ("attend_and_store", attend_and_store, launch.attend_and_store),
        ("decoder", partial(_in_steps, Steps(row_products, row_gated, attend_and_store)), one_kernel.decoder),
    ):
        library.impl(name, on_cpu, "CPU")
        library.impl(name, on_gpu, "CUDA")

    def one_row(x: Tensor, rows: int) -> Tensor:
        return x.new_empty((1, rows))

    fakes: dict[str, Callable[..., Tensor]] = {
        "row_products": lambda x, weights, *rest, **more: one_row(x, sum(one.shape[0] for one in weights)),
        "row_gated": lambda x, gate, *rest, **more: one_row(x, gate.shape[0]),
        "attend": lambda q, *rest, **more: q.new_empty(q.shape),
        "attend_and_store": lambda q, *rest, **more: q.new_empty(q.shape),
        "decoder": lambda x, weights, norms, caches, head, *rest, **more: one_row(x, head.shape[0]),
    }
    for name, fake in fakes.items():
        torch.library.register_fake(f"{NAMESPACE}::{name}", fake, lib=library)
    _kept.append(library)
    return getattr(torch.ops, NAMESPACE)


def _in_steps(steps: Steps, *args: Any, **more: Any) -> Tensor:
    """The operator `decoder` without its kernel."""
    from kernel_pytorch.perf.decode.decoder_steps import in_steps

    overlaps = False
    given = (*args[:11], overlaps, extras_of(*args[11:], **more))
    return in_steps(steps, *given)


_kept: list[object] = []  # an operator lives as long as the library object that defined it
