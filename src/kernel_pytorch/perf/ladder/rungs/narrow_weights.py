"""Level 5: weights in 8 or 4 bits, for decoding. Gives up precision: each kind has a permission of its own.

Inputs stay as they are; the kernel widens the weights while it multiplies. The check allows outputs that are ALLOWED
apart from the original's (root mean square), and the ledger says how far apart they are. Before that, every layer's
bits are compared with its weight, and the kernel with plain torch on the same bits. Not run on a GPU here.
"""

from __future__ import annotations

import importlib.util
from functools import partial
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.tree import shallow_tree
from kernel_pytorch.perf.ladder.rung import ModelRung, Options, Prediction
from kernel_pytorch.perf.ladder.rungs.environment import vendor_of
from kernel_pytorch.perf.ladder.rungs.fp8 import format_of

if TYPE_CHECKING:
    import torch
    from torch import nn

    from kernel_pytorch.perf.profile import Profile

# Of the root mean square of the original's outputs. With random weights a product in int8 is off by about 1 %, in fp8
# by 3 % and in int4 by 10 %, and over layers the errors add up.
ALLOWED = {"int8": 0.03, "fp8": 0.06, "int4": 0.2}
PERMISSIONS = {kind: f"{kind}-weights" for kind in ALLOWED}
SAVED = {"int8": 0.5, "fp8": 0.5, "int4": 0.74}
"""Of the bytes of a weight in half precision."""
SMALLEST = 1 << 16
"""Elements of a weight that is worth a kernel of its own."""


def taken(model: nn.Module, kind: str, smallest: int = SMALLEST) -> tuple[str, ...]:
    """Paths of the linear layers that can be narrow. The last one of a model, its head, is left as it is."""
    import torch

    from kernel_pytorch.perf.narrow.formats import why_not

    linear = [(path, one) for path, one in model.named_modules() if type(one) is torch.nn.Linear]
    fits = [path for path, one in linear if one.weight.numel() >= smallest and why_not(one.weight, kind) is None]
    last = [path for path, _ in linear][-1:]
    return tuple(path for path in fits if path not in last or len(fits) == 1)


def _why_none(model: nn.Module, kind: str) -> str:
    import torch

    from kernel_pytorch.perf.narrow.formats import why_not

    reasons = [why_not(one.weight, kind) for one in model.modules() if type(one) is torch.nn.Linear]
    known = [one for one in reasons if one is not None]
    return known[0] if known else f"no linear layer has {SMALLEST} weights or more"


def _find(kind: str, model: nn.Module, inputs: Inputs) -> str:
    from kernel_pytorch.perf.ladder.rungs.one_row import few_rows

    if kind == "fp8":
        format_of(model)
    if vendor_of(model) == "cpu":
        raise NotApplicable("the model is not on a GPU")
    if importlib.util.find_spec("triton") is None:
        raise NotApplicable("Triton is not installed")
    if model.training:
        raise NotApplicable("the model is in train mode: narrow copies of weights have no gradients")
    paths = taken(model, kind)
    if not paths:
        raise NotApplicable(_why_none(model, kind))
    if not few_rows(model, inputs):
        raise NotApplicable("no product has 16 rows or fewer: narrow weights help where reading them is the time")
    return f"{len(paths)} linear layers with weights in {kind}; the copies do not follow later changes"


def _apply(kind: str, model: nn.Module, inputs: Inputs, options: Options) -> nn.Module:
    import torch

    from kernel_pytorch.perf.narrow.linear import faults, made_narrow

    paths = taken(model, kind, int(options.get("smallest", SMALLEST)))
    if not paths:
        raise NotApplicable(_why_none(model, kind))
    fp8 = _fp8_of(model, options) if kind == "fp8" else None
    tree: Any = shallow_tree(model)
    with torch.no_grad():
        for path in paths:
            made = tree.get_submodule(path)
            made_narrow(made, kind, fp8)
            wrong = faults(path, made)
            if wrong:
                raise WrongWeights(wrong)
    return tree


def _fp8_of(model: nn.Module, options: Options) -> torch.dtype:
    import torch

    return getattr(torch, str(options["format"])) if "format" in options else format_of(model)


class WrongWeights(Exception):
    """Bits that are not the weight, or a product that is not that of the bits."""


def _predict(kind: str, profile: Profile, inputs: Inputs) -> Prediction:
    gemm = sum(row.kernel_ms for row in profile.categories if row.category == "gemm")
    share = SAVED[kind]
    return Prediction(share * gemm, f"products take {gemm:.3f} ms; {share:.0%} of the bytes of their weights are saved")


def _rung(kind: str) -> ModelRung:
    return ModelRung(
        f"{kind}_weights",
        5,
        f"weights in {kind} for up to 16 rows at once",
        partial(_find, kind),
        partial(_apply, kind),
        partial(_predict, kind),
        needs=frozenset({PERMISSIONS[kind]}),
        usual_share=0.3,
        loosens=ALLOWED[kind],
    )


RUNGS = tuple(map(_rung, ALLOWED))
