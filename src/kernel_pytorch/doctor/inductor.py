"""Inductor and Dynamo settings against what ROCm needs (`backends.amd.inductor_table`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernel_pytorch.backends.amd.inductor_table import SETTINGS, Setting, keys_of
from kernel_pytorch.doctor.torch_probe import collect


@dataclass(frozen=True)
class Difference:
    """A setting that is not as ROCm wants it."""

    setting: Setting
    actual: Any


def current_settings() -> dict[str, Any]:
    """The settings of this very process. Imports torch."""
    settings = collect(keys_of("inductor"), keys_of("dynamo"))["settings"]
    assert isinstance(settings, dict)
    return settings


def differences(settings: Mapping[str, Any]) -> tuple[Difference, ...]:
    """What differs from what ROCm needs. Settings this torch does not have are left out."""
    found = []
    for setting in SETTINGS:
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
        lines.append(f"{modules[item.setting.module]}.{item.setting.name} = {item.setting.wanted!r}")
    return tuple(lines)
