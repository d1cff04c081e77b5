"""The same model in double precision: when two results differ, it says which one is off."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.memory import is_out_of_memory, release_unused

if TYPE_CHECKING:
    from torch import Tensor, nn

# Beyond this the double run computes something else (a cast inside the model, other random numbers), not better.
_DISAGREES = 0.25


@dataclass(frozen=True)
class Referee:
    """Outputs of the model in higher precision, one row per set of inputs; `why_none` where there are none."""

    outputs: tuple[tuple[Any, ...], ...] = ()
    precision: str = ""
    why_none: str = ""


def hear_referee(
    model: nn.Module,
    sets: tuple[Inputs, ...],
    run: Callable[[nn.Module, Inputs], tuple[Any, ...]],
    expected: tuple[tuple[Any, ...], ...],
) -> Referee:
    """Run a double-precision copy of the model, or an fp32 one where that fits and is still better."""
    import torch

    floats = [item for item in (*model.parameters(), *model.buffers()) if item.is_floating_point()]
    count = sum(item.numel() for item in floats)
    device = floats[0].device if floats else torch.device("cpu")
    narrow = any(item.element_size() < 4 for item in floats)
    reasons = []
    for dtype in (torch.float64, torch.float32) if narrow else (torch.float64,):
        name = str(dtype).removeprefix("torch.")
        if not _fits(count * dtype.itemsize, device):
            reasons.append(f"a copy in {name} does not fit into memory")
            continue
        try:
            twin = copy.deepcopy(model).to(dtype)
            outputs = tuple(run(twin, _converted(inputs, dtype)) for inputs in sets)
        except Exception as error:
            full = is_out_of_memory(error)
            reasons.append(f"a copy in {name} ran out of memory" if full else f"it fails in {name}: {_first(error)}")
            continue
        finally:
            twin = None
            if device.type == "cuda":
                release_unused(device)
        outputs = tuple(tuple(_stored(item) for item in row) for row in outputs)
        rows = zip(expected, outputs, strict=True)
        off = max(_relative_rms(old, new) for row, best in rows for old, new in zip(row, best, strict=False))
        if off <= _DISAGREES:
            return Referee(outputs, name)
        reasons.append(f"in {name} it computes something else ({100 * off:.0f} % off)")
    return Referee(why_none="; ".join(reasons))


def _fits(size: int, device: Any) -> bool:
    import torch

    if device.type != "cuda":
        return size < 4 << 30
    free, _ = torch.cuda.mem_get_info(device)
    return 2 * size < int(free)


def _stored(item: Any) -> Any:
    """On the host where it would take much of the device."""
    import torch

    if item.is_cuda and 20 * item.numel() * item.element_size() > torch.cuda.mem_get_info(item.device)[0]:
        return item.cpu()
    return item


def _converted(inputs: Inputs, dtype: Any) -> Inputs:
    import torch

    def converted(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
            return leaf.detach().to(dtype).requires_grad_(leaf.requires_grad)
        return leaf

    return inputs.mapped(converted)


def rms(tensor: Tensor) -> float:
    """The root of the mean square, in double; 0 for nothing."""
    return float(tensor.double().square().mean().sqrt()) if tensor.numel() else 0.0


def finite_pair(value: Any, truth: Any) -> tuple[Any, Any]:
    """Both in double, where both are finite."""
    import torch

    value, truth = value.double(), truth.double().to(value.device)
    both = torch.isfinite(value) & torch.isfinite(truth)
    return value[both], truth[both]


def _relative_rms(value: Any, truth: Any) -> float:
    if not value.is_floating_point() or value.shape != truth.shape:
        return 0.0 if value.shape == truth.shape else float("inf")
    value, truth = finite_pair(value, truth)
    size = rms(truth)
    return rms(value - truth) / size if size else 0.0


def _first(error: BaseException) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:160]}"
