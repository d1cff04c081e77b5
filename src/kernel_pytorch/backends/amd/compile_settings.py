"""torch.compile on ROCm: only what differs from this torch's own settings, and only for the model at hand."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

from kernel_pytorch.backends.amd.inductor_table import RECOMPILE_LIMIT, SETTINGS
from kernel_pytorch.core.errors import AMDConfigurationError

# Passed as options of one compile, so nothing global changes and nothing is to be restored. Some ROCm images turn
# max_autotune on for everything, which makes "default" a search of minutes.
WANTED = {setting.name: setting.wanted for setting in SETTINGS if setting.per_compile}
_SEARCHES = {"max_autotune": True, "max_autotune_gemm_backends": "ATEN,TRITON"}
_GRAPH_MODES = ("reduce-overhead", "max-autotune")


def rocm_compile_arguments(mode: str | None) -> dict[str, Any]:
    """Keyword arguments for torch.compile. Raises AMDConfigurationError for the modes that capture graphs."""
    import torch
    from torch._inductor import config as inductor

    if mode in _GRAPH_MODES:
        raise AMDConfigurationError(
            "compile",
            mode,
            "Inductor's graph capture is unreliable on ROCm: use True, 'max-autotune-no-cudagraphs', or pass "
            "torch.compile's own keyword arguments as a dict to have exactly those",
        )
    wanted = {**WANTED, **(_SEARCHES if mode == "max-autotune-no-cudagraphs" else {})}
    options = {key: value for key, value in wanted.items() if _setting(inductor, key) not in (None, value)}
    arguments: dict[str, object] = {"options": options} if options else {}
    if "recompile_limit" in inspect.signature(torch.compile).parameters:
        arguments["recompile_limit"] = RECOMPILE_LIMIT
    return arguments


def _setting(inductor: ModuleType, key: str) -> object:
    """The current value; None where this torch does not have the setting."""
    value: object = inductor
    for part in key.split("."):
        value = getattr(value, part, None)
    return value
