"""Level 5: hipBLASLt in place of rocBLAS for this model's calls alone. Not run on AMD here.

torch's preferred BLAS library is set during the calls and as before after them; compiled code and recorded graphs keep
what was chosen when they were made. (TORCH_BLAS_PREFER_HIPBLASLT, at level 1, does it for a whole process.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.advice.rules import SLOW_GEMM
from kernel_pytorch.perf.ladder.rung import Options, Prediction, Recipe, WrapRung
from kernel_pytorch.perf.ladder.rungs.compile import SLOT, compiled, kept_compile, why_not_compiled
from kernel_pytorch.perf.ladder.rungs.environment import vendor_of

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.perf.profile import Profile

LIBRARY = "hipblaslt"


def _find(model: nn.Module, inputs: Inputs) -> str:
    import torch

    why_not_compiled(model)
    vendor = vendor_of(model)
    if vendor != "amd":
        raise NotApplicable("hipBLASLt is AMD's library" if vendor == "nvidia" else "the model is not on a GPU")
    if LIBRARY in str(torch.backends.cuda.preferred_blas_library()).lower():
        raise NotApplicable("hipBLASLt is the preferred library already")
    return "matrix products by hipBLASLt before rocBLAS, during this model's calls"


def _choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    options = kept_compile(kept)
    if options is None:
        raise NotApplicable("no compile of the whole model was kept; TORCH_BLAS_PREFER_HIPBLASLT=1 does it for eager")
    return ({**options, "blas": LIBRARY},)


def _wrap(function: Callable[..., Any], inputs: Inputs, options: Options) -> Callable[..., Any]:
    return compiled(function, options)


def _predict(profile: Profile, inputs: Inputs) -> Prediction:
    lost = sum(one.saving_ms for one in profile.advice if one.title == SLOW_GEMM)
    return Prediction(lost, f"GEMMs are {lost:.3f} ms above what tuned kernels take")


HIPBLASLT = WrapRung("hipblaslt", 5, "matrix products by hipBLASLt", SLOT, _find, _wrap, _predict, _choices)

RUNGS = (HIPBLASLT,)
