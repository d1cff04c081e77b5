"""What every back end offers, and the words they share: the protocol, precisions, tolerances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import torch
    from torch import nn

    from kernel_pytorch.core.config import AMDConfig

DTYPE_NAMES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}

# Relative and absolute difference that two correct orders of the same sums may show, per precision.
TOLERANCES = {"fp32": (1e-4, 1e-5), "fp16": (4e-3, 1e-3), "bf16": (2e-2, 1e-2)}


@runtime_checkable
class Backend(Protocol):
    """A device to run models on: AMD, NVIDIA or the CPU."""

    @property
    def device(self) -> torch.device: ...  # torch.device

    @property
    def config(self) -> AMDConfig: ...

    @property
    def precision(self) -> Precision: ...

    def is_available(self) -> bool: ...

    def get_device_info(self) -> dict[str, Any]: ...

    def prepare_model(
        self,
        model: nn.Module,
        *,
        parallel: str | None = None,
        compile: bool | str | Mapping[str, object] = False,
        memory_format: str = "auto",
    ) -> nn.Module: ...

    def synchronize(self) -> None: ...

    def cleanup(self) -> None: ...


@dataclass(frozen=True)
class Precision:
    """What a model computes in.

    `mixed` keeps fp32 weights and lets torch.autocast choose per operation, which is what training wants; without
    it the weights themselves are of that precision.
    """

    name: str  # "fp32", "fp16" or "bf16"
    mixed: bool
    reason: str

    @property
    def dtype(self) -> torch.dtype:
        """The torch dtype."""
        return torch_dtype(self.name)

    @property
    def is_low(self) -> bool:
        """16 bits."""
        return self.name != "fp32"


def torch_dtype(name: str) -> torch.dtype:
    """The torch dtype of "fp32", "fp16" or "bf16"."""
    import torch

    return getattr(torch, DTYPE_NAMES[name])


def precision_name(dtype: torch.dtype) -> str | None:
    """ "bf16" of torch.bfloat16; None for a dtype that is no precision a model is prepared in."""
    wanted = str(dtype).removeprefix("torch.")
    return next((name for name, full in DTYPE_NAMES.items() if full == wanted), None)


def tolerance(precision: str | torch.dtype) -> tuple[float, float]:
    """Relative and absolute tolerance of a comparison in that precision, given by name or torch dtype."""
    name = precision if isinstance(precision, str) else precision_name(precision)
    if name not in TOLERANCES:
        raise ValueError(f"no tolerance for {precision!r}: known are {', '.join(TOLERANCES)}")
    return TOLERANCES[name]
