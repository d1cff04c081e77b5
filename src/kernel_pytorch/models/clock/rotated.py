"""Copies of the inputs to rotate through, and what is wrong with inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernel_pytorch.perf.bench.target import Target

MAX_COPIES = 8
MAX_BYTES = 2 << 30


def rotated_calls(target: Target, device_cache_bytes: int) -> list[Callable[[], object]]:
    """The target's call with as many copies of its inputs as push each other out of the caches, at most eight."""
    size = sum(_bytes(value) for value in (*target.arguments, *target.keywords.values()))
    if size == 0:
        return [lambda: target.call(*target.arguments, **target.keywords)]
    wanted = max(2, -(-device_cache_bytes // size)) if device_cache_bytes else 2
    count = max(1, min(MAX_COPIES, wanted, MAX_BYTES // size))
    return [_call_with(target, number) for number in range(count)]


def _call_with(target: Target, number: int) -> Callable[[], object]:
    copied = number > 0  # the first set is the user's own
    arguments = tuple(_copy(value) if copied else value for value in target.arguments)
    keywords = {key: _copy(value) if copied else value for key, value in target.keywords.items()}
    return lambda: target.call(*arguments, **keywords)


def _copy(value: Any) -> Any:
    if hasattr(value, "clone") and hasattr(value, "detach"):
        fresh = value.detach().clone()
        return fresh.requires_grad_(value.requires_grad) if value.requires_grad else fresh
    if isinstance(value, (list, tuple)):
        return type(value)(_copy(item) for item in value)
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return value


def _bytes(value: Any) -> int:
    if hasattr(value, "element_size") and hasattr(value, "numel"):
        return int(value.element_size() * value.numel())
    if isinstance(value, (list, tuple)):
        return sum(_bytes(item) for item in value)
    if isinstance(value, dict):
        return sum(_bytes(item) for item in value.values())
    return 0


def input_notes(target: Target) -> list[str]:
    """Inputs that make a timing meaningless."""
    notes = []
    for name, value in [*enumerate(target.arguments), *target.keywords.items()]:
        is_float = hasattr(value, "is_floating_point") and value.is_floating_point()
        if is_float and value.numel() > 1 and not bool(value.any()):
            notes.append(f"input {name} is all zeros: GPUs clock higher on zeros, and some kernels skip them")
    return notes
