"""Is aiter here, and does it have the operators we call? Asked once, told in words."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch._ops import OpOverload

from kernel_pytorch.core.hardware import targets

# The arguments that we pass, by name: what an installed release does not have is refused, not guessed.
GEMM_ARGUMENTS = ("A", "B", "bias")
ATTENTION_ARGUMENTS = (
    "q", "k", "v", "dropout_p", "softmax_scale", "is_causal", "window_size_left", "window_size_right", "sink_size",
    "return_softmax_lse", "return_dropout_randval",
)  # fmt: skip


def served_targets() -> tuple[str, ...]:
    """The targets that aiter has kernels for."""
    return tuple(row.name for row in targets("amd") if "aiter" in row.libraries)


class AiterMissing(Exception):
    """aiter cannot serve here; the message says why."""


def operator(name: str, arguments: tuple[str, ...]) -> OpOverload:
    """torch.ops.aiter.<name>.default. Raises AiterMissing where it is not there or takes other arguments."""
    import torch

    if importlib.util.find_spec("aiter") is not None:
        importlib.import_module("aiter")  # registers the operators
    packet = getattr(torch.ops.aiter, name, None)
    if packet is None:
        raise AiterMissing(f"aiter is not installed, or has no operator {name} (pip install amd-aiter, on CDNA)")
    found = packet.default
    known = {argument.name for argument in found._schema.arguments}
    missing = [argument for argument in arguments if argument not in known]
    needed = [a.name for a in found._schema.arguments if not a.has_default_value() and a.name not in arguments]
    if missing or needed:
        raise AiterMissing(f"this aiter's {name} has other arguments: {', '.join(missing or needed)}")
    return found


def device_row(device: torch.device) -> tuple[str, int]:
    """Architecture and number of compute units, as aiter's tables have them."""
    import torch

    properties = torch.cuda.get_device_properties(device)
    return str(getattr(properties, "gcnArchName", "")).partition(":")[0], int(properties.multi_processor_count)


def package_folder() -> Path | None:
    """Where aiter lies; None where it is not installed."""
    spec = importlib.util.find_spec("aiter")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else None
