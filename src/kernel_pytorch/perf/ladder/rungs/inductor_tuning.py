"""Inductor's searches, on top of whatever compile was kept: longer compiles for faster kernels.

Each adds its settings to those of the kept compile step and takes its place. All of them are options of one compile:
nothing global changes. On ROCm Triton's GEMMs join the search beside ATen's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.advice.rules import SLOW_GEMM
from kernel_pytorch.perf.ladder.rung import Options, Prediction, Recipe, WrapRung
from kernel_pytorch.perf.ladder.rungs.compile import SLOT, TUNED, compiled, kept_compile, why_not_compiled

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.perf.profile import Profile

FREEZING = "freezing"
"""The permission for folding weights into the compiled code: later changes to them are not seen."""


def _find(what: str) -> Callable[[nn.Module, Inputs], str]:
    def find(model: nn.Module, inputs: Inputs) -> str:
        why_not_compiled(model)
        if not any(item.device.type == "cuda" for item in model.parameters()):
            raise NotApplicable("the model is not on a GPU: Inductor's searches are over GPU kernels")
        return what

    return find


def _added(inductor: dict[str, Any]) -> Callable[..., tuple[Options, ...]]:
    def choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
        options = kept_compile(kept)
        if options is None:
            raise NotApplicable("no compile of the whole model was kept: there is nothing to tune")
        before = options.get("inductor", {})
        if all(before.get(name) == value for name, value in inductor.items()):
            raise NotApplicable("these settings are in the kept compile already")
        if options.get("passes"):
            raise NotApplicable("its products are kernels of our own: there is nothing for Inductor to search")
        options["inductor"] = {**before, **inductor}
        return (options,)

    return choices


def _wrap(function: Callable[..., Any], inputs: Inputs, options: Options) -> Callable[..., Any]:
    return compiled(function, options)


def _predict_gemm(profile: Profile, inputs: Inputs) -> Prediction:
    lost = sum(one.saving_ms for one in profile.advice if one.title == SLOW_GEMM)
    return Prediction(lost, f"GEMMs are {lost:.3f} ms above what tuned kernels take")


def _predict_fused(profile: Profile, inputs: Inputs) -> Prediction:
    rest = sum(
        row.most_to_gain_ms for row in profile.categories if row.category in ("elementwise", "norm", "reduction")
    )
    return Prediction(
        rest or None, f"fused kernels are {rest:.3f} ms above their bandwidth" if rest else "not modelled"
    )


def _rung(
    name: str,
    title: str,
    what: str,
    inductor: dict[str, Any],
    predict: Callable[[Profile, Inputs], Prediction],
    compiles: float,
    usual_share: float,
    needs: frozenset[str] = frozenset(),
) -> WrapRung:
    assert name in TUNED
    found = _find(what)
    return WrapRung(
        name,
        4,
        title,
        SLOT,
        found,
        _wrap,
        predict,
        _added(inductor),
        needs,
        usual_share=usual_share,
        compiles=compiles,
    )


COORDINATE_DESCENT = _rung(
    "coordinate_descent",
    "launch choices of fused kernels by coordinate descent",
    "launch choices searched per kernel; one row times a matrix becomes a fused reduction",
    {"coordinate_descent_tuning": True},
    _predict_fused,
    compiles=3.0,
    usual_share=0.06,
)
GEMM_SEARCH = _rung(
    "gemm_search",
    "GEMM kernels by search (ATen and Triton)",
    "every matrix product timed with ATen's and Triton's kernels",
    {"max_autotune_gemm": True, "max_autotune_gemm_backends": "ATEN,TRITON"},
    _predict_gemm,
    compiles=4.0,
    usual_share=0.01,
)
KERNEL_SEARCH = _rung(
    "kernel_search",
    "all kernels by search (max-autotune-no-cudagraphs)",
    "matrix products, convolutions and fused kernels timed in all their forms",
    {
        "max_autotune": True,
        "max_autotune_pointwise": True,
        "max_autotune_gemm_backends": "ATEN,TRITON",
        "coordinate_descent_tuning": True,
    },
    _predict_gemm,
    compiles=6.0,
    usual_share=0.02,
)
FROZEN = _rung(
    FREEZING,
    "weights folded into the compiled code (freezing)",
    "weights become constants of the compiled code: later changes to them are not seen",
    {"freezing": True},
    _predict_fused,
    compiles=1.5,
    usual_share=0.02,
    needs=frozenset({FREEZING}),
)
RUNGS = (COORDINATE_DESCENT, GEMM_SEARCH, KERNEL_SEARCH, FROZEN)
