"""What is timed of a model: its call as in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.comparison import tensors_in
from kernel_pytorch.models.inputs import Inputs

if TYPE_CHECKING:
    from torch import nn


def as_used(function: Callable[..., Any], model: nn.Module, inputs: Inputs) -> Callable[..., Any]:
    """A call and the other calls after it: forward without gradients, or, in train mode, forward and backward."""
    import torch

    def infer(*args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            for other in inputs.others:
                other.call(function)
            return function(*args, **kwargs)

    def train(*args: Any, **kwargs: Any) -> Any:
        called = [function(*args, **kwargs), *(other.call(function) for other in inputs.others)]
        outputs = [item for item in tensors_in(called) if item.requires_grad]
        wanted = [parameter for parameter in model.parameters() if parameter.requires_grad]
        if outputs and wanted:  # gradients the user has gathered so far are not touched
            torch.autograd.grad([item.sum() for item in outputs], wanted, allow_unused=True)

    return train if model.training else infer
