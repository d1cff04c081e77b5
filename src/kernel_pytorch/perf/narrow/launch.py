"""Launching the kernels of narrow weights, and the operator that models call: torch.ops.kpt_narrow.product."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor
    from torch._ops import _OpNamespace as OpNamespace

NAMESPACE = "kpt_narrow"
MOST_ROWS = 16
"""More rows are worth a matrix product of the weights as they are."""
PLAIN = "plain"
# Rows of a weight and bytes of a row that a program has at a time: for one row of inputs, and for several.
ONE_ROW, ONE_ROW_BYTES = 4, 1024
FEW_ROWS, FEW_COLUMNS = 16, 128


def product(x: Tensor, weight: Tensor, scales: Tensor | None, bias: Tensor | None, kind: str) -> Tensor:
    """x @ weight.T + bias for up to MOST_ROWS rows: the Triton form."""
    import triton

    from kernel_pytorch.perf.narrow.kernels import few_rows_times_narrow, one_row_times_narrow

    x = x.contiguous()
    count, columns = x.shape
    rows = weight.shape[0]
    out = x.new_empty((count, rows))
    given = (x, weight, x if scales is None else scales, x if bias is None else bias, out)
    if count == 1 and kind != PLAIN:
        width = columns // 2 if kind == "int4" else columns
        block = min(ONE_ROW_BYTES, int(triton.next_power_of_2(width)))
        one_row_times_narrow[(triton.cdiv(rows, ONE_ROW),)](
            *given, rows, columns, HAS_BIAS=bias is not None, KIND=kind, BLOCK_ROWS=ONE_ROW, BLOCK=block, num_warps=4
        )
        return out
    few_rows_times_narrow[(triton.cdiv(rows, FEW_ROWS),)](
        *given, count, rows, columns, HAS_BIAS=bias is not None, KIND=kind, BLOCK_ROWS=FEW_ROWS, BLOCK=FEW_COLUMNS,
        num_warps=4,
    )  # fmt: skip
    return out


def plainly(x: Tensor, weight: Tensor, scales: Tensor | None, bias: Tensor | None, kind: str) -> Tensor:
    """The same in plain torch."""
    from kernel_pytorch.perf.narrow.formats import Narrow, widened

    wide = weight.float() if scales is None else widened(Narrow(kind, weight, scales))
    out = x.float() @ wide.t()
    return (out if bias is None else out + bias.float()).to(x.dtype)


@lru_cache(maxsize=1)
def register() -> OpNamespace:
    """Define the operator; gives torch.ops.kpt_narrow."""
    import torch

    library = torch.library.Library(NAMESPACE, "DEF")
    library.define("product(Tensor x, Tensor weight, Tensor? scales, Tensor? bias, str kind) -> Tensor")
    library.impl("product", plainly, "CPU")
    library.impl("product", product, "CUDA")
    name = f"{NAMESPACE}::product"
    torch.library.register_fake(name, lambda x, weight, *rest: x.new_empty((x.shape[0], weight.shape[0])), lib=library)
    _kept.append(library)
    return getattr(torch.ops, NAMESPACE)


_kept: list[object] = []  # an operator lives as long as the library object that defined it
