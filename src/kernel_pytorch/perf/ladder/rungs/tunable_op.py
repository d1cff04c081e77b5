"""Level 1: TunableOp, torch's own search among rocBLAS's and hipBLASLt's kernels for every shape of GEMM.

One run tunes and writes the file; measured and used is a run that only reads it. The file lies in the folder of the
result, so that the search happens once. AMD only: on NVIDIA torch has no candidates to choose among.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.advice.rules import SLOW_GEMM
from kernel_pytorch.perf.ladder.rung import FOLDER, EnvironmentRung, Options, Prediction, Recipe
from kernel_pytorch.perf.ladder.rungs.environment import vendor_of

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.perf.profile import Profile

# torch puts the number of the device before the extension.
FILE = f"{FOLDER}/tunableop_results.csv"
ENABLED, TUNING, FILENAME = (f"PYTORCH_TUNABLEOP_{name}" for name in ("ENABLED", "TUNING", "FILENAME"))
LIMITS = {"PYTORCH_TUNABLEOP_MAX_TUNING_DURATION_MS": "30", "PYTORCH_TUNABLEOP_MAX_WARMUP_DURATION_MS": "10"}


def _find(model: nn.Module, inputs: Inputs) -> str:
    vendor = vendor_of(model)
    if vendor == "nvidia":
        raise NotApplicable("TunableOp chooses between rocBLAS and hipBLASLt: on NVIDIA there is nothing to choose")
    if vendor == "cpu":
        raise NotApplicable("the model is not on a GPU")
    if os.environ.get(ENABLED) == "1" and os.environ.get(FILENAME):
        raise NotApplicable(f"TunableOp is on already, with the file {os.environ[FILENAME]}")
    return "GEMM kernels of rocBLAS and hipBLASLt timed for every shape; the choice is kept in tunableop_results.csv"


def _choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    return ({ENABLED: "1", TUNING: "0", FILENAME: FILE},)


def tuning_run(variables: Mapping[str, str]) -> Mapping[str, str]:
    """The variables of the run that searches and writes the file."""
    return {**variables, TUNING: "1", **LIMITS}


def _predict(profile: Profile, inputs: Inputs) -> Prediction:
    lost = sum(one.saving_ms for one in profile.advice if one.title == SLOW_GEMM)
    return Prediction(lost, f"GEMMs are {lost:.3f} ms above what tuned kernels take")


TUNABLE_OP = EnvironmentRung("tunable_op", 1, "GEMM kernels by TunableOp", _find, _choices, _predict, tuning_run)

RUNGS = (TUNABLE_OP,)
