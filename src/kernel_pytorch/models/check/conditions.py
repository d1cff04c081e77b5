"""Under which conditions two runs of a model can be compared at all.

Fused attention draws its random numbers in another order than F.dropout, so that outputs with dropout cannot be
compared. torch.compile draws others, too, and does not see what hides dropout from us. Checkpointing runs again in the
backward pass, where dropout cannot be hidden, but draws the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

WITH_DROPOUT, WITHOUT_DROPOUT, IN_EVAL = "with dropout", "without dropout", "in eval mode"


@contextmanager
def under(conditions: str, model: nn.Module) -> Iterator[None]:
    """Whatever `model` computes inside, it computes under these conditions. Its modes are as they were after it."""
    if conditions == WITHOUT_DROPOUT:
        with _mode_without_dropout()():
            yield
        return
    modes = [(module, module.training) for module in model.modules()]
    try:
        if conditions == IN_EVAL:
            for module, _ in modes:
                module.training = False
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@lru_cache(maxsize=1)
def _mode_without_dropout() -> Any:
    from torch.nn import functional
    from torch.overrides import TorchFunctionMode

    plain = {
        function
        for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
        if (function := getattr(functional, name, None)) is not None
    }

    class WithoutDropout(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if func in plain:
                return args[0] if args else kwargs["input"]
            if func is functional.scaled_dot_product_attention:
                args = (*args[:4], 0.0, *args[5:]) if len(args) > 4 else args
                kwargs = {**kwargs, "dropout_p": 0.0} if "dropout_p" in kwargs else kwargs
            return func(*args, **kwargs)

    return WithoutDropout
