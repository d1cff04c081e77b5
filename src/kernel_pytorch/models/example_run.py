"""One run of a tree on the example, watched; nothing of it stays behind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.inputs import Inputs, copied_inputs
from kernel_pytorch.models.undisturbed import undisturbed

if TYPE_CHECKING:
    from torch import nn

Before = Callable[[Any, tuple[Any, ...], dict[str, Any]], None]
After = Callable[[Any, tuple[Any, ...], dict[str, Any], Any], None]


def run_once(
    tree: nn.Module,
    inputs: Inputs,
    *,
    before: Before | None = None,
    after: After | None = None,
    within: AbstractContextManager[Any] | None = None,
    look: Callable[[], None] | None = None,
) -> Any:
    """Call `tree` without gradients, with callbacks around the call of each of its modules.

    `look` is called while the output is there and nothing is put back yet."""
    import torch

    with ExitStack() as stack:
        stack.enter_context(undisturbed(tree))
        stack.enter_context(torch.no_grad())
        for module in tree.modules():
            if isinstance(module, torch.jit.ScriptModule):
                continue
            if before is not None:
                hook = module.register_forward_pre_hook(before, with_kwargs=True)
                stack.callback(hook.remove)
            if after is not None:
                hook = module.register_forward_hook(after, with_kwargs=True)
                stack.callback(hook.remove)
        own = copied_inputs(inputs)
        with within or nullcontext():
            output = own.call(tree)
        if look is not None:
            look()
        return output
