"""What a GPU can do, from the hardware table, and which row of it a recording is about."""

from __future__ import annotations

import re
from typing import Any

from kernel_pytorch.core.hardware import GPU, find_gpu, gpu_by_alias, gpus, targets
from kernel_pytorch.perf.profile import Peaks

BY_HAND = "named by --gpu"


def peaks_of(gpu: GPU, how: str) -> Peaks:
    """Peak rates of a product."""
    matrix = {key.removesuffix("_matrix"): value for key, value in gpu.peak.items() if key.endswith("_matrix")}
    vector = {key.removesuffix("_vector"): value for key, value in gpu.peak.items() if key.endswith("_vector")}
    source = f"hardware table ({how})"
    return Peaks(gpu.name, gpu.bandwidth_gbs, matrix, vector, dict(gpu.achievable), None, source, gpu.alias)


def named_gpu(alias: str) -> Peaks:
    """The peaks of a GPU named on the command line. Raises UnknownTargetError (a UsageError)."""
    return peaks_of(gpu_by_alias(alias), BY_HAND)


def recorded_gpu(facts: dict[str, Any]) -> Peaks | None:
    """The peaks of the device a trace's device properties describe; None where the table has no such GPU."""
    name = str(facts.get("name", ""))
    units = facts.get("numSms")
    memory = facts.get("totalGlobalMem")
    named = [row for row in gpus() if name and re.search(row.name_hint, name, re.IGNORECASE)]
    if isinstance(units, int):
        named = [row for row in named if row.compute_units == units] or named
    if len(named) == 1:
        return peaks_of(named[0], f"device name {name!r}")
    if named:
        return peaks_of(named[0], f"device name {name!r}")
    target = _target(facts, name)
    gib = memory / 2**30 if isinstance(memory, int) else None
    if not target:
        return _by_size(facts, units, gib)
    match = find_gpu(target, units if isinstance(units, int) else None, gib, name=name)
    return peaks_of(match.gpu, f"closest to {name!r}, {target}") if match else None


def _by_size(facts: dict[str, Any], units: object, gib: float | None) -> Peaks | None:
    """The one product of these version numbers with as many compute units and as much memory."""
    version = (facts.get("computeMajor"), facts.get("computeMinor"))
    fits = [
        row
        for row in gpus()
        if row.target.version == version and row.compute_units == units and gib and abs(row.memory_gib / gib - 1) < 0.05
    ]
    if len(fits) != 1 or gib is None:
        return None
    return peaks_of(fits[0], f"{units} compute units and {gib:.0f} GiB are {fits[0].name}'s; --gpu names another")


def _target(facts: dict[str, Any], name: str) -> str:
    """The target by the profiler's own word, or from the version numbers it gives; drivers leave names empty."""
    if str(facts.get("target", "")).startswith("gfx"):
        return str(facts["target"])
    version = (facts.get("computeMajor"), facts.get("computeMinor"))
    if "AMD" in name or "Radeon" in name or facts.get("warpSize") == 64:
        named = [row.name for row in targets("amd") if row.stands_for_arch and row.version == version]
        return named[0] if len(named) == 1 else ""  # 9.0 is three architectures: those need a name
    return f"sm_{version[0]}{version[1]}" if None not in version else ""


def peak_tflops(peaks: Peaks, arithmetic: str, matrix: bool) -> float | None:
    """The peak a kernel of this arithmetic is held against; vector units where there are no matrix ones.

    Elementwise 16-bit arithmetic runs at the fp32 rate or better on every GPU of the table: fp32 is the floor used.
    """
    if matrix and arithmetic in peaks.matrix:
        return peaks.matrix[arithmetic]
    if arithmetic in peaks.vector:
        return peaks.vector[arithmetic]
    return peaks.vector.get("fp32")
