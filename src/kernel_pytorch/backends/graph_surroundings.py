"""What a call stands in: its modules, its device, autocast, the random generators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kernel_pytorch.backends.graph_inputs import NotReplayable
from kernel_pytorch.backends.graph_recorder import Recorder

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn


def modules_of(function: object) -> tuple[nn.Module, ...]:
    """The modules a function is, or is a method of: torch.compile's wrappers are looked through."""
    import torch

    seen: list[nn.Module] = []
    for item in (function, getattr(function, "__self__", None), getattr(function, "_torchdynamo_orig_callable", None)):
        for candidate in (item, getattr(item, "__self__", None), getattr(item, "_orig_mod", None)):
            if isinstance(candidate, torch.nn.Module) and candidate not in seen:
                seen.append(candidate)
    return tuple(seen)


def submodules(modules: tuple[nn.Module, ...]) -> list[nn.Module]:
    """The modules and everything in them."""
    return [module for root in modules for module in root.modules()]


def one_gpu(tensors: tuple[Tensor, ...], modules: tuple[nn.Module, ...]) -> torch.device:
    """The GPU a call is on. Raises NotReplayable where it is on none, or on several devices."""
    import torch

    device = device_of(list(tensors), modules)
    if device is None or device.type != "cuda":
        raise NotReplayable("graphs need a GPU")
    others = {item.device for item in tensors} - {device}
    if others:
        raise NotReplayable(f"an argument lies on {others.pop()}, the others on {device}")
    if not hasattr(torch.cuda, "CUDAGraph"):
        raise NotReplayable("this torch has no graphs")
    return device


def device_of(tensors: list[Tensor], modules: tuple[nn.Module, ...]) -> torch.device | None:
    """The device of the first argument, or of the first parameter; None where there is neither."""
    own = (item for module in modules for item in module.parameters())
    found = tensors[0] if tensors else next(own, None)
    return found.device if found is not None else None


def autocast_state(tensors: tuple[Tensor, ...]) -> tuple[object, ...]:
    """What autocast makes of a call: another state is another graph."""
    import torch

    kind = tensors[0].device.type if tensors else "cuda"
    return (torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind), torch.is_autocast_cache_enabled())


@contextmanager
def random_state_kept(tensors: tuple[Tensor, ...], modules: tuple[nn.Module, ...], pool: Recorder) -> Iterator[None]:
    """Whatever is drawn inside, the random generators are as they were after it."""
    import torch

    device = device_of(list(tensors), modules)
    states = [(generator, generator.get_state()) for generator in getattr(pool, "generators", ())]
    with torch.random.fork_rng(devices=[device] if device is not None and device.type == "cuda" else []):
        try:
            yield
        finally:
            for generator, state in states:
                generator.set_state(state)
