"""What figures depend on: the model's code and shapes, the inputs, torch, the device."""

from __future__ import annotations

import hashlib
import inspect
import platform
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.inputs import Inputs

if TYPE_CHECKING:
    from torch import nn


def identity_of(model: nn.Module, inputs: Inputs, target: str, sources: Iterable[Path] = ()) -> dict[str, str]:
    """Name to value. Weights are not in it: rungs may depend on shapes, not on what was learnt."""
    import torch

    from kernel_pytorch.models.clock.device import current_device
    from kernel_pytorch.version import VERSION

    tensors = [*model.parameters(), *model.buffers()]
    device = current_device(force_cpu=not any(item.is_cuda for item in [*tensors, *_tensors(inputs)]))
    shapes = [
        f"{name} {tuple(item.shape)} {item.dtype}" for name, item in model.state_dict().items() if _is_tensor(item)
    ]
    modes = [f"{name} {type(module).__qualname__} {module.training}" for name, module in model.named_modules()]
    return {
        "target": target,
        "model code": _digest(sorted(_code(model)) + [path.read_text(encoding="utf-8") for path in sources]),
        "model": _digest(shapes + modes),
        "inputs": _digest([_signature((one.args, one.kwargs)) for one in (inputs, *inputs.others)]),
        "torch": torch.__version__,
        "device": f"{device.kind}: {device.name}",
        "python": platform.python_version(),
        "kpt": VERSION,
    }


def _code(model: nn.Module) -> set[str]:
    """The source of every class of the model that is not torch's own, whose version stands for it."""
    found = set()
    for kind in {kind for module in model.modules() for kind in type(module).__mro__}:
        if kind is object or kind.__module__.split(".")[0] == "torch":
            continue
        try:
            found.add(inspect.getsource(kind))
        except (OSError, TypeError):  # made in an interactive session
            found.add(f"{kind.__module__}.{kind.__qualname__}")
    return found


def source_of(target: str) -> tuple[Path, ...]:
    """The file that a TARGET names, where it names one."""
    place = target.rpartition(":")[0]
    if place.endswith(".py"):
        return (Path(place),) if Path(place).is_file() else ()
    file = getattr(sys.modules.get(place), "__file__", None)
    return (Path(file),) if file and Path(file).is_file() else ()


def _signature(value: Any) -> str:
    if _is_tensor(value):
        return f"{tuple(value.shape)} {value.stride()} {value.dtype} {value.requires_grad}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_signature(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(_signature(item) for item in value) + ")"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    return type(value).__qualname__


def _tensors(inputs: Inputs) -> list[Any]:
    from torch.utils import _pytree

    return [leaf for leaf in _pytree.tree_leaves((inputs.args, inputs.kwargs)) if _is_tensor(leaf)]


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
