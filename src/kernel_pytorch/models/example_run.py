"""One run of a tree on the example, watched; nothing of it stays behind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.inputs import Inputs, copied_inputs
from kernel_pytorch.models.undisturbed import undisturbed

if TYPE_CHECKING:
    from torch import nn

Before = Callable[[Any, tuple[Any, ...], dict[str, Any]], None]
After = Callable[[Any, tuple[Any, ...], dict[str, Any], Any], None]


def run_once(
    tree: nn.Module, inputs: Inputs, *, before: Before | None = None, after: After | None = None, within: Any = None
) -> Any:
    """Call `tree` without gradients, with callbacks around the call of each of its modules."""
    import torch

    with ExitStack() as stack:
        stack.enter_context(undisturbed(tree))
        stack.enter_context(torch.no_grad())
        for module in tree.modules():
            if isinstance(module, torch.jit.ScriptModule):
                continue
            if before is not None:
                hook = module.register_forward_pre_hook(_quiet_before(before), with_kwargs=True)
                stack.callback(hook.remove)
            if after is not None:
                hook = module.register_forward_hook(_quiet_after(after), with_kwargs=True)
                stack.callback(hook.remove)
        if within is not None:
            stack.enter_context(within)
        return copied_inputs(inputs).call(tree)


def _quiet_before(callback: Before) -> Any:
    def hook(module: Any, args: Any, kwargs: Any) -> None:
        callback(module, args, kwargs)

    return hook


def _quiet_after(callback: After) -> Any:
    def hook(module: Any, args: Any, kwargs: Any, output: Any) -> None:
        callback(module, args, kwargs, output)

    return hook
