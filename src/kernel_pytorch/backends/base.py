"""What every back end offers: the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import torch
    from torch import nn

    from kernel_pytorch.core.config import AMDConfig
    from kernel_pytorch.models.precision import Precision


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
