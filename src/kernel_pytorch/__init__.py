"""KernelPyTorch: move CUDA and PyTorch code to AMD GPUs and make it fast there.

Importing this package imports no torch and probes no GPU.
"""

from __future__ import annotations

from kernel_pytorch.version import VERSION

__version__ = VERSION

__all__ = ["__version__"]
