"""Triton kernels for the pointwise parts of transformers, as operators of torch with gradients.

    from kernel_pytorch.models import kernels
    y, h = kernels.add_rms_norm(x, residual, weight, 1e-6)

Importing this package loads nothing; the first use of a name loads torch and registers the operators.
"""

from __future__ import annotations

from typing import Any

_FUNCTIONS = ("rms_norm", "add_rms_norm", "layer_norm", "add_layer_norm", "silu_mul", "gelu_mul", "rope")


def __getattr__(name: str) -> Any:
    if name == "worth_it":
        from kernel_pytorch.models.kernels.worth import worth_it

        return worth_it
    if name in _FUNCTIONS:
        from kernel_pytorch.models.kernels import functions, ops

        # Here and not at the first call, which may be one that torch.compile traces.
        ops.register()
        return getattr(functions, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
