"""KernelPyTorch: move CUDA and PyTorch code to AMD GPUs and make it fast there.

Importing this package imports no torch and probes no GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernel_pytorch.version import VERSION

if TYPE_CHECKING:
    from kernel_pytorch.perf.ladder.optimize import Optimized, optimize

__version__ = VERSION

__all__ = ["Optimized", "__version__", "optimize"]


def __getattr__(name: str) -> Any:
    """What needs more than the standard library is imported when it is asked for."""
    if name in ("optimize", "Optimized"):
        from kernel_pytorch.perf.ladder import optimize as module

        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
