"""Level 4: products of 2 to 16 rows with a weight as a kernel that reads the weight once for all rows.

For decoding several sequences at a time. Found in Inductor's graph by structure (`perf.narrow.few_rows_pass`).
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.ladder.rung import Options, Recipe, WrapRung
from kernel_pytorch.perf.ladder.rungs.compile import SLOT, kept_compile, why_not_compiled
from kernel_pytorch.perf.ladder.rungs.environment import vendor_of
from kernel_pytorch.perf.ladder.rungs.one_row import WHOLE, few_rows, predict, with_passes, wrap

if TYPE_CHECKING:
    from torch import nn

PASS = "few rows"


def _find(model: nn.Module, inputs: Inputs) -> str:
    import torch

    why_not_compiled(model)
    if vendor_of(model) == "cpu":
        raise NotApplicable("the model is not on a GPU")
    if importlib.util.find_spec("triton") is None:
        raise NotApplicable("Triton is not installed")
    if model.training:
        raise NotApplicable("the model is in train mode: the kernel has no gradients")
    if not {item.dtype for item in model.parameters()} & {torch.bfloat16, torch.float16}:
        raise NotApplicable("no weight is in bfloat16 or float16")
    found = few_rows(model, inputs, least=2)
    if not found:
        raise NotApplicable("no product has 2 to 16 rows")
    return (
        f"{found} products of 2 to 16 rows as a kernel that reads each weight once; never run on a GPU by its authors"
    )


def _choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    before = (kept_compile(kept) or {}).get("passes", [])
    if WHOLE in before or PASS in before:
        raise NotApplicable("these products are kernels of ours already")
    return (with_passes(kept, *before, PASS),)


FEW_ROW_KERNELS = WrapRung(
    "few_row_kernels",
    4,
    "products of 2 to 16 rows: each weight read once",
    SLOT,
    _find,
    wrap,
    predict,
    _choices,
    usual_share=0.1,
)

RUNGS = (FEW_ROW_KERNELS,)
