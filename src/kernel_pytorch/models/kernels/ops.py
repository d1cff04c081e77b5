"""The kernels as operators of torch: `torch.ops.kernel_pytorch.*`, with fake kernels and gradients.

On a CPU an operator computes in torch's own operations, or in the kernel itself under Triton's interpreter. A new
operator is registered by one `_Operator` of the table at the end.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kernel_pytorch.models.kernels import gated, norms, plain, rotary

if TYPE_CHECKING:
    from torch import nn

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from torch.library import Library

ACTIVATIONS = ("silu", "gelu_tanh", "gelu_erf")


class _Operator(NamedTuple):
    schema: str
    kernel: Callable[..., Tensor | tuple[Tensor, ...]]
    plain: Callable[..., Tensor | tuple[Tensor, ...]]
    fake: Callable[..., Tensor | tuple[Tensor, ...]]
    keep: Callable[..., None] | None = None
    backward: Callable[..., tuple[Tensor | None, ...]] | None = None

    @property
    def name(self) -> str:
        return self.schema.partition("(")[0]


def interprets() -> bool:
    """Does Triton run kernels on the CPU in this process?"""
    return os.environ.get("TRITON_INTERPRET") == "1"


def why_not(model: nn.Module) -> str | None:
    """The reason why the kernels cannot serve this model here, or None."""
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    if not interprets() and not any(item.device.type == "cuda" for item in model.parameters()):
        return "the model is not on a GPU"
    return None


@lru_cache(maxsize=1)
def register() -> Library:
    """Define the operators, once in a process. Keep what it returns: with it the operators would go."""
    import torch

    library = torch.library.Library("kernel_pytorch", "FRAGMENT")
    # What a fake kernel says of strides holds for the strides it was asked with.
    layout = getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order)
    for operator in _operators():
        library.define(operator.schema, tags=(torch.Tag.pt2_compliant_tag, layout))
        library.impl(operator.name, operator.kernel, "CUDA")
        library.impl(operator.name, operator.kernel if interprets() else operator.plain, "CPU")
        torch.library.register_fake(f"kernel_pytorch::{operator.name}", operator.fake, lib=library)
        if operator.backward is not None:
            torch.library.register_autograd(
                f"kernel_pytorch::{operator.name}", operator.backward, setup_context=operator.keep, lib=library
            )
    return library


def call(name: str, *arguments: object) -> Any:
    """The operator; its kernel without the dispatcher where nothing needs to see the call, which takes half the time.

    A call that is traced, or of anything but plain tensors, goes through `torch.ops`."""
    import torch

    if torch.compiler.is_compiling():
        return getattr(torch.ops.kernel_pytorch, name)(*arguments)
    tensors = [item for item in arguments if isinstance(item, torch.Tensor)]
    if any(type(item) not in _plain_types() for item in tensors) or not (tensors[0].is_cuda or interprets()):
        return getattr(torch.ops.kernel_pytorch, name)(*arguments)
    if torch.is_grad_enabled() and any(item.requires_grad for item in tensors):
        return _functions()[name].apply(*arguments)
    return _by_name()[name].kernel(*arguments)


@lru_cache(maxsize=1)
def _plain_types() -> tuple[type, ...]:
    import torch

    return torch.Tensor, torch.nn.Parameter


@lru_cache(maxsize=1)
def _by_name() -> dict[str, _Operator]:
    return {operator.name: operator for operator in _operators()}


@lru_cache(maxsize=1)
def _functions() -> dict[str, type[torch.autograd.Function]]:
    """The operators with gradients as plain autograd functions."""
    import torch

    def function(operator: _Operator) -> type[torch.autograd.Function]:
        assert operator.backward is not None and operator.keep is not None
        members = {
            "forward": staticmethod(operator.kernel),
            "setup_context": staticmethod(operator.keep),
            "backward": staticmethod(operator.backward),
        }
        return type(operator.name, (torch.autograd.Function,), members)

    return {name: function(operator) for name, operator in _by_name().items() if operator.backward is not None}


def _norm(
    run: Callable[..., tuple[Tensor | None, ...]], *, center: bool, residual: bool
) -> Callable[..., tuple[Tensor, ...]]:
    """The operator's function of a norm from one that takes all arguments; only what is there is returned."""

    def rms(
        x: Tensor, other: Tensor | None, weight: Tensor | None, eps: float, offset: float, round_first: bool
    ) -> tuple[Tensor, ...]:
        _check_norm(x, other, weight, None)
        found = run(x, other, weight, None, eps, offset, center=False, round_first=round_first)
        return tuple(item for item in found if item is not None)

    def layer(
        x: Tensor, other: Tensor | None, weight: Tensor | None, bias: Tensor | None, eps: float
    ) -> tuple[Tensor, ...]:
        _check_norm(x, other, weight, bias)
        found = run(x, other, weight, bias, eps, 0.0, center=True, round_first=False)
        return tuple(item for item in found if item is not None)

    whole = layer if center else rms
    return whole if residual else lambda x, *rest: whole(x, None, *rest)


def _fake_norm(
    x: Tensor,
    residual: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    offset: float,
    *,
    center: bool,
    round_first: bool,
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor]:
    import torch

    y = x.new_empty(x.shape)
    h = x.new_empty(x.shape) if residual is not None else None
    kind = torch.promote_types(x.dtype, torch.float32)
    mean = x.new_empty(x.shape[:-1], dtype=kind) if center else None
    return y, h, mean, x.new_empty(x.shape[:-1], dtype=kind)


def _check_norm(x: Tensor, residual: Tensor | None, weight: Tensor | None, bias: Tensor | None) -> None:
    if residual is not None and (residual.shape != x.shape or residual.dtype != x.dtype):
        raise ValueError(f"the residual is {_kind_of(residual)}, x is {_kind_of(x)}: they must be alike")
    for name, vector in (("weight", weight), ("bias", bias)):
        if vector is not None and tuple(vector.shape) != (x.shape[-1],):
            raise ValueError(f"{name} has shape {tuple(vector.shape)}, a row of x has {x.shape[-1]} values")
    if bias is not None and (weight is None or bias.dtype != weight.dtype):
        raise ValueError("a bias needs a weight of its dtype beside it")


def _kind_of(tensor: Any) -> str:
    return f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"


def _keep_norm(*, center: bool, residual: bool) -> Callable[..., None]:
    def keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        weight = inputs[2 if residual else 1]
        ctx.save_for_backward(output[1] if residual else inputs[0], output[-2] if center else None, output[-1], weight)
        ctx.offset, ctx.round_first = (0.0, False) if center else inputs[-2:]
        ctx.mark_non_differentiable(*output[-2 if center else -1 :])
        ctx.set_materialize_grads(False)

    return keep


def _norm_gradient(*, center: bool, residual: bool) -> Callable[..., tuple[Tensor | None, ...]]:
    def gradient(ctx: Any, *given: Tensor | None) -> tuple[Tensor | None, ...]:
        x, mean, rstd, weight = ctx.saved_tensors
        dy, dh = given[0], given[1] if residual else None
        inputs = 2 if residual else 1
        needs_weight = ctx.needs_input_grad[inputs]
        needs_bias = center and ctx.needs_input_grad[inputs + 1]
        if dy is None:
            # Only the sum was used: the norm has no part in the gradient.
            found = [dh, None, None]
        else:
            wanted = (needs_weight, needs_bias)
            found = list(call("norm_backward", dy, dh, x, mean, rstd, weight, ctx.offset, ctx.round_first, *wanted))
        own = [found[0]] * inputs + [found[1] if needs_weight else None]
        if center:
            return (*own, found[2] if needs_bias else None, None)
        return (*own, None, None, None)

    return gradient


def _norm_backward(run: Callable[..., tuple[Tensor | None, ...]]) -> Callable[..., tuple[Tensor, ...]]:
    def backward(
        dy: Tensor, dh: Tensor | None, x: Tensor, mean: Tensor | None, rstd: Tensor, weight: Tensor | None,
        offset: float, round_first: bool, needs_weight: bool, needs_bias: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        dx, dweight, dbias = run(
            dy, dh, x, mean, rstd, weight, offset,
            round_first=round_first, needs_weight=needs_weight, needs_bias=needs_bias,
        )  # fmt: skip
        # An operator always returns tensors.
        return dx, x.new_empty(0) if dweight is None else dweight, x.new_empty(0) if dbias is None else dbias

    return backward


def _fake_norm_backward(
    dy: Tensor, dh: Tensor | None, x: Tensor, mean: Tensor | None, rstd: Tensor, weight: Tensor | None,
    offset: float, *, round_first: bool, needs_weight: bool, needs_bias: bool,
) -> tuple[Tensor, Tensor | None, Tensor | None]:  # fmt: skip
    dweight, dbias = (
        weight.new_empty(weight.shape) if wanted and weight is not None else None
        for wanted in (needs_weight, needs_bias)
    )
    return x.new_empty(x.shape), dweight, dbias


def _checked_gated(run: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def forward(gate: Tensor, up: Tensor, activation: str) -> Tensor:
        if gate.shape != up.shape or gate.dtype != up.dtype:
            raise ValueError(f"gate is {_kind_of(gate)}, up is {_kind_of(up)}: they must be alike")
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation {activation!r} is not one of {', '.join(ACTIVATIONS)}")
        return run(gate, up, activation)

    return forward


def _keep_gated(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:2])
    ctx.activation = inputs[2]


def _gated_gradient(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
    return (*call("gated_backward", dout, *ctx.saved_tensors, ctx.activation), None)


def _rope(run: Callable[..., tuple[Tensor, Tensor]]) -> Callable[..., tuple[Tensor, Tensor]]:
    def forward(
        q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, rotated: int, interleaved: bool, backward: bool
    ) -> tuple[Tensor, Tensor]:
        _check_rope(q, k, cos, sin, rotated)
        return run(q, k, cos, sin, rotated, interleaved=interleaved, backward=backward)

    return forward


def _check_rope(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, rotated: int) -> None:
    if q.dim() != 4 or k.dim() != 4 or q.dtype != k.dtype or (q.shape[0], *q.shape[2:]) != (k.shape[0], *k.shape[2:]):
        raise ValueError(
            f"q is {_kind_of(q)}, k is {_kind_of(k)}: (batch, heads, tokens, width), alike but for the heads"
        )
    if rotated % 2 or not 0 < rotated <= q.shape[-1]:
        raise ValueError(f"{rotated} of {q.shape[-1]} values cannot be rotated in pairs")
    fits = cos.dim() == 3 and cos.shape[0] in (1, q.shape[0]) and cos.shape[1] == q.shape[2]
    if not fits or cos.shape[-1] not in (rotated, rotated // 2) or cos.shape != sin.shape:
        raise ValueError(
            f"cos is {_kind_of(cos)}, sin is {_kind_of(sin)}: they must be ({q.shape[0]} or 1, {q.shape[2]}, "
            f"{rotated} or {rotated // 2})"
        )


def _fake_rope(q: Tensor, k: Tensor, *rest: object, **named: object) -> tuple[Tensor, Tensor]:
    import torch

    return tuple(torch.empty_like(x if x.stride(-1) == 1 or x.shape[-1] == 1 else x.contiguous()) for x in (q, k))


def _plain_rope(q: Tensor, k: Tensor, *rest: Any, **named: Any) -> tuple[Tensor, Tensor]:
    # Strides as the kernel gives them, so that one fake kernel is right for both.
    outs = _fake_rope(q, k)
    for out, value in zip(outs, plain.rotate(q, k, *rest, **named), strict=True):
        out.copy_(value)
    return outs


def _keep_rope(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    ctx.save_for_backward(*inputs[2:4])
    ctx.settings = inputs[4:]
    ctx.set_materialize_grads(True)


def _rope_gradient(ctx: Any, dq: Tensor, dk: Tensor) -> tuple[Tensor | None, ...]:
    rotated, interleaved, backward = ctx.settings
    dq, dk = call("rope", dq, dk, *ctx.saved_tensors, rotated, interleaved, not backward)
    return dq, dk, None, None, None, None, None


def _norm_operator(name: str, arguments: str, outputs: int, *, center: bool, residual: bool) -> _Operator:
    kinds: dict[str, bool] = {"center": center, "residual": residual}
    return _Operator(
        f"{name}({arguments}) -> ({', '.join(['Tensor'] * outputs)})",
        _norm(norms.forward, **kinds),
        _norm(plain.norm_forward, **kinds),
        _norm(_fake_norm, **kinds),
        _keep_norm(**kinds),
        _norm_gradient(**kinds),
    )


def _operators() -> tuple[_Operator, ...]:
    rms, layer = "Tensor? weight, float eps, float offset, bool round_first", "Tensor? weight, Tensor? bias, float eps"
    both = "Tensor x, Tensor residual"
    return (
        _norm_operator("rms_norm", f"Tensor x, {rms}", 2, center=False, residual=False),
        _norm_operator("add_rms_norm", f"{both}, {rms}", 3, center=False, residual=True),
        _norm_operator("layer_norm", f"Tensor x, {layer}", 3, center=True, residual=False),
        _norm_operator("add_layer_norm", f"{both}, {layer}", 4, center=True, residual=True),
        _Operator(
            "norm_backward(Tensor dy, Tensor? dh, Tensor x, Tensor? mean, Tensor rstd, Tensor? weight, float offset, "
            "bool round_first, bool needs_weight, bool needs_bias) -> (Tensor, Tensor, Tensor)",
            _norm_backward(norms.backward),
            _norm_backward(plain.norm_backward),
            _norm_backward(_fake_norm_backward),
        ),
        _Operator(
            "gated(Tensor gate, Tensor up, str activation) -> Tensor",
            _checked_gated(gated.forward),
            _checked_gated(plain.gated),
            _checked_gated(lambda gate, up, activation: gate.new_empty(gate.shape)),
            _keep_gated,
            _gated_gradient,
        ),
        _Operator(
            "gated_backward(Tensor dout, Tensor gate, Tensor up, str activation) -> (Tensor, Tensor)",
            gated.backward,
            plain.gated_backward,
            lambda dout, gate, up, activation: (gate.new_empty(gate.shape), up.new_empty(up.shape)),
        ),
        _Operator(
            "rope(Tensor q, Tensor k, Tensor cos, Tensor sin, int rotated, bool interleaved, bool backward) "
            "-> (Tensor, Tensor)",
            _rope(rotary.rotate),
            _rope(_plain_rope),
            _rope(_fake_rope),
            _keep_rope,
            _rope_gradient,
        ),
    )
