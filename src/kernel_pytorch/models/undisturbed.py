"""Running a model for a check, and leaving nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

# What an optimisation itself puts on a module.
_OURS = ("forward", "_compiled_call_impl", "training")


@contextmanager
def undisturbed(model: nn.Module) -> Iterator[None]:
    """Whatever happens inside, random state, buffers and plain attributes of the model are as they were after it."""
    import torch

    tables = [(module, module._buffers, dict(module._buffers)) for module in model.modules()]
    contents = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    attributes = [
        (module, {name: value for name, value in module.__dict__.items() if name not in _OURS})
        for module in model.modules()
    ]
    with torch.random.fork_rng(devices=cuda_devices(model)):
        try:
            yield
        finally:
            for _, table, before in tables:
                table.clear()
                table.update(before)
            with torch.no_grad():
                for buffer, value in contents:
                    if not torch.equal(buffer, value):
                        buffer.copy_(value)
            for module, plain in attributes:
                for name in [name for name in module.__dict__ if name not in plain and name not in _OURS]:
                    del module.__dict__[name]
                module.__dict__.update(plain)


def cuda_devices(model: nn.Module) -> list[int]:
    """The GPUs a model's parameters lie on."""
    return sorted({item.device.index for item in model.parameters() if item.device.type == "cuda"})
