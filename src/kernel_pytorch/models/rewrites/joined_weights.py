"""Weights that lie side by side in one storage, and the gradient of one matrix product over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


def joint_view(parts: Sequence[Any]) -> Any:
    """The tensor whose consecutive slices the parts are; None if they are not side by side."""
    first = parts[0]
    address, end, shape = first.untyped_storage().data_ptr(), first.storage_offset(), first.shape[1:]
    rows = 0
    for part in parts:
        if (
            part.untyped_storage().data_ptr() != address
            or part.storage_offset() != end
            or part.dtype != first.dtype
            or part.shape[1:] != shape
            or not part.is_contiguous()
        ):
            return None
        end += part.numel()
        rows += part.shape[0]
    return first.detach().as_strided((rows, *shape), first.stride(), first.storage_offset())


@lru_cache(maxsize=1)
def joint_function() -> Any:
    import torch
    from torch.nn import functional

    class JointLinear(torch.autograd.Function):  # type: ignore[misc]
        """One product over the joint weight; its gradient goes to each parameter by itself."""

        @staticmethod
        def forward(ctx: Any, x: Tensor, weight: Any, bias: Any, count: int, *parameters: Any) -> Any:
            result = functional.linear(x, weight, bias)
            ctx.count, ctx.x_dtype = count, x.dtype
            # Under autocast the product ran in 16 bits: what was multiplied is what the gradient needs.
            ctx.save_for_backward(x.to(result.dtype), *parameters)
            return result

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            x, *parameters = ctx.saved_tensors
            weights, biases = parameters[: ctx.count], parameters[ctx.count :]
            sizes = [len(item) for item in weights]
            flat = gradient.reshape(-1, gradient.shape[-1])
            wanted = ctx.needs_input_grad
            x_gradient = None
            if wanted[0]:
                # The joint view is cut from the graph; a second derivative needs the parameters themselves.
                weight = None if torch.is_grad_enabled() else joint_view(weights)
                weight = torch.cat(weights) if weight is None else weight
                x_gradient = (gradient @ weight.to(gradient.dtype)).to(ctx.x_dtype)
            parts: list[Any] = [None] * len(parameters)
            if any(wanted[4 : 4 + ctx.count]):
                product = flat.t() @ x.reshape(-1, x.shape[-1])
                parts[: ctx.count] = [
                    part.to(item.dtype) for part, item in zip(product.split(sizes), weights, strict=True)
                ]
            if any(wanted[4 + ctx.count :]):
                parts[ctx.count :] = [
                    part.to(item.dtype) for part, item in zip(flat.sum(0).split(sizes), biases, strict=True)
                ]
            return x_gradient, None, None, None, *parts

    return JointLinear


def owns_its_storage(parameter: Tensor, shared: frozenset[int]) -> bool:
    """True when a parameter is all that lies in its storage, and no other tensor of the model lies there."""
    return (
        parameter.is_contiguous()
        and parameter.untyped_storage().nbytes() == parameter.numel() * parameter.element_size()
        and parameter.untyped_storage().data_ptr() not in shared
    )
