"""Keeps torch.compile from capturing graphs on ROCm, also where a library hard-codes the mode.

    import rocm_compile_guard
    undo = rocm_compile_guard.install()   # before the library compiles anything

Written by `kpt port`; imports nothing of it. On NVIDIA `install()` changes nothing at all. On ROCm every later
call of `torch.compile` (also through `module.compile()`) with mode "reduce-overhead" or "max-autotune" runs as
"default", and `options={"triton.cudagraphs": True}` as False; each is logged once.
A library that took the function itself before (`from torch import compile`) is not reached: install first.
`inductor_settings()` is the same for Inductor's own configuration: it sets only what differs, and puts it back.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

LOGGER = logging.getLogger(__name__)
ON_ROCM = {"reduce-overhead": "default", "max-autotune": "default"}
CAPTURE_OPTIONS = ("triton.cudagraphs", "triton.cudagraph_trees")
_warned: set[str] = set()


def is_rocm() -> bool:
    """Whether this torch was built for ROCm."""
    return getattr(torch.version, "hip", None) is not None


def install() -> Callable[[], None]:
    """Replaces torch.compile on ROCm; returns what puts the original back. Installing twice is installing once."""
    original = torch.compile
    if not is_rocm() or hasattr(original, "__rocm_guarded__"):
        return lambda: None

    @functools.wraps(original)
    def compile_without_capture(*args: Any, **kwargs: Any) -> Any:
        mode = kwargs.get("mode")
        if mode in ON_ROCM:
            _tell_once(f'torch.compile(mode="{mode}") runs as "{ON_ROCM[mode]}" on ROCm')
            kwargs["mode"] = ON_ROCM[mode]
        options = kwargs.get("options")
        if options and any(options.get(name) for name in CAPTURE_OPTIONS):
            _tell_once("torch.compile's options that capture graphs are off on ROCm")
            kwargs["options"] = {**options, **{name: False for name in CAPTURE_OPTIONS if name in options}}
        return original(*args, **kwargs)

    compile_without_capture.__rocm_guarded__ = True  # type: ignore[attr-defined]
    torch.compile = compile_without_capture

    def undo() -> None:
        if torch.compile is compile_without_capture:
            torch.compile = original

    return undo


@contextmanager
def inductor_settings() -> Iterator[dict[str, tuple[object, object]]]:
    """Inductor without capture, autotuning and memory planning, on ROCm. Yields what it changed: (before, after)."""
    import torch._inductor.config as config

    wanted: dict[str, object] = {
        "max_autotune": False,
        "max_autotune_gemm": False,
        "memory_planning": False,
        "triton.cudagraphs": False,
    }
    changed: dict[str, tuple[object, object]] = {}
    if is_rocm():
        for name, value in wanted.items():
            before = functools.reduce(getattr, name.split("."), config)
            if before != value:
                changed[name] = (before, value)
    with config.patch({name: after for name, (_, after) in changed.items()}):
        yield changed


def _tell_once(message: str) -> None:
    if message not in _warned:
        _warned.add(message)
        LOGGER.warning(message)
