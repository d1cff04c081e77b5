"""Inductor and Dynamo settings against what ROCm needs.

`NEEDED` is seed 004's list, corrected by what stock torch does: most are the defaults since torch 2.x, and
`cache_size_limit` became `recompile_limit`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernel_pytorch.doctor.torch_probe import DYNAMO_KEYS, INDUCTOR_KEYS, collect


@dataclass(frozen=True)
class Setting:
    """One setting ROCm wants. `harm`: "red", "warn" or "info" when it differs; `at_least` compares as a minimum."""

    key: str
    wanted: Any
    harm: str
    why: str
    at_least: bool = False


@dataclass(frozen=True)
class Difference:
    """A setting that is not as ROCm wants it."""

    setting: Setting
    actual: Any


NEEDED = (
    Setting("inductor.max_autotune", False, "red", "turns mode='default' into a search that takes minutes or hangs"),
    Setting("inductor.max_autotune_gemm", False, "warn", "searches GEMM kernels at every new shape"),
    Setting("inductor.max_autotune_pointwise", False, "warn", "searches launch configurations of every fused kernel"),
    Setting("inductor.triton.cudagraphs", False, "warn", "Inductor's own graph capture is unreliable on ROCm"),
    Setting("inductor.memory_planning", False, "warn", "deep recursion on large graphs"),
    Setting("inductor.coordinate_descent_tuning", False, "warn", "a second search after autotuning"),
    Setting("inductor.aggressive_fusion", False, "info", "may help or hurt: measure before keeping it"),
    Setting("inductor.epilogue_fusion", True, "info", "fuses elementwise work into the kernel before it"),
    Setting("inductor.pattern_matcher", True, "info", "finds attention and fused-norm patterns"),
    Setting("inductor.reorder_for_locality", True, "info", "helps caches"),
    Setting("inductor.triton.cudagraph_trees", False, "info", "no effect while triton.cudagraphs is off"),
    Setting("inductor.max_autotune_gemm_backends", "ATEN", "info", "no effect while max_autotune is off"),
    Setting("dynamo.recompile_limit", 128, "info", "models with changing shapes fall back to eager beyond it", True),
    Setting("dynamo.cache_size_limit", 128, "info", "the old name of recompile_limit", True),
)


def current_settings() -> dict[str, Any]:
    """The settings of this very process. Imports torch."""
    settings = collect(INDUCTOR_KEYS, DYNAMO_KEYS)["settings"]
    assert isinstance(settings, dict)
    return settings


def differences(settings: Mapping[str, Any]) -> tuple[Difference, ...]:
    """What differs from what ROCm needs. Settings this torch does not have are left out."""
    found = []
    for setting in NEEDED:
        actual = settings.get(setting.key)
        if setting.key == "dynamo.cache_size_limit" and settings.get("dynamo.recompile_limit") is not None:
            continue  # an alias in new versions: one report is enough
        if actual is None:
            continue
        fine = actual >= setting.wanted if setting.at_least else actual == setting.wanted
        if not fine:
            found.append(Difference(setting, actual))
    return tuple(found)


def code_for(found: tuple[Difference, ...]) -> tuple[str, ...]:
    """Python lines that set them."""
    modules = {"inductor": "torch._inductor.config", "dynamo": "torch._dynamo.config"}
    lines = []
    for item in found:
        prefix, _, key = item.setting.key.partition(".")
        lines.append(f"{modules[prefix]}.{key} = {item.setting.wanted!r}")
    return tuple(lines)
