"""May a module's call be replaced by its arithmetic?"""

from __future__ import annotations

from typing import Any

_OURS = "kernel_pytorch.models."


def is_its_own(module: Any) -> bool:
    """No hooks, and no forward of anyone else's on it. Ours computes the same as the module's own."""
    forward = module.__dict__.get("forward")
    return (forward is None or type(forward).__module__.startswith(_OURS)) and not (
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
    )
