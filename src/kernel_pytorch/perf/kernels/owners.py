"""May a module's call be replaced by its arithmetic?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

_OURS = "kernel_pytorch.backends.amd.rewrites"


def is_its_own(module: nn.Module) -> bool:
    """No hooks, and no forward of anyone else's on it. Ours computes the same as the module's own."""
    forward = module.__dict__.get("forward")
    return (forward is None or type(forward).__module__.startswith(_OURS)) and not (
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
    )
