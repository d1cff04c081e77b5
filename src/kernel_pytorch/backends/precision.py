"""Which precision a device computes in, and what its matrix units take. All of it from the hardware table."""

from __future__ import annotations

import re
from typing import Any

from kernel_pytorch.backends.notices import say_once
from kernel_pytorch.core.architecture import AMDArchitecture
from kernel_pytorch.core.config import ARCHITECTURE_DEFAULTS, AMDConfig
from kernel_pytorch.core.errors import MatrixCoreError
from kernel_pytorch.core.hardware import Target, UnknownTargetError, gpus, target, targets
from kernel_pytorch.models.precision import Precision

FP8_DTYPES = {"e4m3fnuz": "float8_e4m3fnuz", "e4m3fn": "float8_e4m3fn"}
_FIRST_BF16_TENSOR_CORES = 80  # sm_80, Ampere


def known_target(name: str) -> Target | None:
    """The row of a target, or None for one the table does not have."""
    try:
        return target(name)
    except UnknownTargetError:
        return None


def fitted_config(config: AMDConfig, architecture: AMDArchitecture) -> AMDConfig:
    """`config` on a known architecture, where its defaults must not contradict what the caller ruled out."""
    defaults = ARCHITECTURE_DEFAULTS[architecture]
    chosen = {item: getattr(config, item) for item in config.caller_set}
    if "default_precision" not in chosen:
        chosen["default_precision"] = _allowed_precision(config, str(defaults["default_precision"]))
    demanded = chosen.get("enable_matrix_cores") is True
    if demanded and architecture in (AMDArchitecture.GCN5, AMDArchitecture.RDNA2):
        message = f"enable_matrix_cores=True, but {architecture.name} has no matrix units"
        if config.enable_strict_validation:
            raise MatrixCoreError(f"{message}: leave the option out", {"architecture": architecture.value})
        say_once(f"{message}: it has no effect")
        chosen["enable_matrix_cores"] = False
    options: dict[str, Any] = {**config.to_dict(), "architecture": architecture, **chosen}
    for name in defaults.keys() - chosen.keys():
        del options[name]
    fitted = AMDConfig(**options)
    # What this function filled in was not the caller's choice.
    object.__setattr__(fitted, "caller_set", config.caller_set)
    return fitted


def _allowed_precision(config: AMDConfig, wanted: str) -> str:
    order = {"bf16": ("bf16", "fp16"), "fp16": ("fp16", "bf16")}.get(wanted, ())
    return next((name for name in order if getattr(config, f"allow_{name}")), "fp32")


def choose_precision(config: AMDConfig, row: Target | None) -> Precision:
    """The precision of a fitted configuration on a device (None: the CPU, or a target the table does not know)."""
    name = config.default_precision
    if "default_precision" in config.caller_set:
        reason = "default_precision of the configuration"
    elif name != "fp32" and not config.enable_matrix_cores:
        return Precision("fp32", False, f"{name} pays only on matrix units, and enable_matrix_cores is False")
    elif config.architecture is AMDArchitecture.AUTO:
        reason = "the default where the architecture is not known"
    else:
        reason = f"the default of {config.architecture.name}"
    if row is not None and name == "bf16" and not takes(row, "bf16"):
        _refuse_or_say(config, f"bf16 on {row.name} ({row.arch}) is computed without matrix units, slower than fp32")
    return Precision(name, name != "fp32" and config.enable_mixed_precision, reason)


def nvidia_precision(config: AMDConfig, target_name: str) -> Precision:
    """As `choose_precision`: bf16 from Ampere on, where the caller chose nothing else."""
    if "default_precision" in config.caller_set or config.architecture is not AMDArchitecture.AUTO:
        return choose_precision(config, known_target(target_name))
    number = re.fullmatch(r"sm_(\d+)", target_name)
    if number is None or int(number.group(1)) < _FIRST_BF16_TENSOR_CORES:
        return Precision("fp32", False, f"{target_name or 'this device'} has no bf16 tensor cores")
    name = _allowed_precision(config, "bf16") if config.enable_matrix_cores else "fp32"
    return Precision(name, name != "fp32" and config.enable_mixed_precision, f"the default of {target_name}")


def matrix_precisions(row: Target) -> frozenset[str]:
    """What the matrix units of a target take ("fp16", "bf16", "fp8" ...), by the products that have it."""
    return frozenset(
        key.removesuffix("_matrix")
        for gpu in gpus()
        if gpu.target.name == row.name or (gpu.target.arch == row.arch and gpu.target.matrix == row.matrix)
        for key in gpu.peak
        if key.endswith("_matrix")
    )


def takes(row: Target, precision: str) -> bool:
    """Do the matrix units of this target multiply that precision?"""
    return row.has_matrix_units and precision in matrix_precisions(row)


def require_matrix_units(target_name: str, precision: str, *, enabled: bool = True) -> None:
    """Raise MatrixCoreError unless the matrix units of the target take that precision and are switched on."""
    if not enabled:
        raise MatrixCoreError("matrix units are switched off: enable_matrix_cores is False", {"target": target_name})
    row = target(target_name)
    if takes(row, precision):
        return
    have = sorted(matrix_precisions(row)) if row.has_matrix_units else []
    what = f"its matrix units take {', '.join(have)}" if have else "it has no matrix units"
    able = [other.name for other in targets("amd") if takes(other, precision)]
    raise MatrixCoreError(
        f"{row.name} ({row.arch}) does not multiply {precision}: {what}. Targets that do: {', '.join(able)}",
        {"target": row.name, "precision": precision, "available": have},
    )


def fp8_dtype(target_name: str, *, enabled: bool = True) -> Any:
    """The torch dtype FP8 has on a target: e4m3fnuz on gfx942, e4m3fn on gfx950, gfx12 and sm_90.

    Raises MatrixCoreError where the target has no FP8 or matrix units are switched off."""
    import torch

    row = target(target_name)
    if row.fp8_format is None or not enabled:
        require_matrix_units(target_name, "fp8", enabled=enabled)
        raise MatrixCoreError(f"{row.name} ({row.arch}) has no FP8 format", {"target": row.name})
    return getattr(torch, FP8_DTYPES[row.fp8_format])


def _refuse_or_say(config: AMDConfig, message: str) -> None:
    if config.enable_strict_validation:
        raise MatrixCoreError(message)
    say_once(message)
