"""The kernels as functions of tensors. Each takes torch's own operations where the kernel cannot run or does not pay.

`force=True` takes the kernel wherever it can run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernel_pytorch.models.kernels import plain
from kernel_pytorch.models.kernels.ops import call, interprets, register
from kernel_pytorch.models.kernels.worth import worth_it

if TYPE_CHECKING:
    from torch import Tensor

# When a kernel is taken: wherever it can run; where measurements have shown that it pays; or in calls that are neither
# compiled (Inductor fuses such operations with their neighbours) nor need gradients.
ALWAYS, WHERE_IT_PAYS, IN_EAGER_INFERENCE = "always", "where it pays", "in eager inference"

if TYPE_CHECKING:
    from torch import Tensor


def rms_norm(
    x: Tensor, weight: Tensor | None = None, eps: float = 1e-6, *, offset: float = 0.0, round_first: bool = False,
    force: bool = False,
) -> Tensor:  # fmt: skip
    """x / sqrt(mean(x^2) + eps) * (weight + offset) over the last axis.

    `round_first`: the normal row is rounded to x's dtype before the weight, as in Llama's code."""

    if serves("rms_norm", _use(force), x, weight):
        return call("rms_norm", x, weight, eps, offset, round_first)[0]
    return plain.norm_forward(x, None, weight, None, eps, offset, center=False, round_first=round_first)[0]


def add_rms_norm(
    x: Tensor, residual: Tensor, weight: Tensor | None = None, eps: float = 1e-6, *, offset: float = 0.0,
    round_first: bool = False, force: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """rms_norm(x + residual), and x + residual."""

    if serves("add_rms_norm", _use(force), x, weight, residual):
        y, h, _ = call("add_rms_norm", x, residual, weight, eps, offset, round_first)
        return y, h
    y, h, _, _ = plain.norm_forward(x, residual, weight, None, eps, offset, center=False, round_first=round_first)
    return y, h


def layer_norm(
    x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5, *, force: bool = False
) -> Tensor:
    """Layer norm over the last axis."""
    import torch

    if serves("layer_norm", _use(force), x, weight):
        return call("layer_norm", x, weight, bias, eps)[0]
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps)


def add_layer_norm(
    x: Tensor,
    residual: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    *,
    force: bool = False,
) -> tuple[Tensor, Tensor]:
    """layer_norm(x + residual), and x + residual."""
    import torch

    if serves("add_layer_norm", _use(force), x, weight, residual):
        y, h, _, _ = call("add_layer_norm", x, residual, weight, bias, eps)
        return y, h
    h = x + residual
    return torch.nn.functional.layer_norm(h, h.shape[-1:], weight, bias, eps), h


def silu_mul(gate: Tensor, up: Tensor, *, force: bool = False) -> Tensor:
    """silu(gate) * up."""
    import torch

    if serves("silu_mul", _use(force), gate, None, up):
        return call("gated", gate, up, "silu")
    return torch.nn.functional.silu(gate) * up


def gelu_mul(gate: Tensor, up: Tensor, approximate: str = "none", *, force: bool = False) -> Tensor:
    """gelu(gate, approximate) * up, with `approximate` "none" or "tanh" as torch has it."""
    import torch

    if serves("gelu_mul", _use(force), gate, None, up):
        return call("gated", gate, up, "gelu_tanh" if approximate == "tanh" else "gelu_erf")
    return torch.nn.functional.gelu(gate, approximate=approximate) * up


def rope(
    q: Tensor,
    k: Tensor,
    cos: Tensor,
    sin: Tensor,
    *,
    interleaved: bool = False,
    rotated: int | None = None,
    force: bool = False,
) -> tuple[Tensor, Tensor]:
    """Rotary position embedding of q and k, both (batch, heads, tokens, width).

    cos and sin are (batch or 1, tokens, n), n being `rotated` or its half; the first `rotated` values of each head are
    turned, all of them unless said. Pairs are (i, i + rotated / 2), or (2i, 2i + 1) with `interleaved`."""
    import torch

    rotated = q.shape[-1] if rotated is None else rotated
    needs_angles = torch.is_grad_enabled() and (cos.requires_grad or sin.requires_grad)
    if not needs_angles and k.dtype == q.dtype and serves("rope", _use(force), q, None):
        return call("rope", q, k, cos, sin, rotated, interleaved, False)  # type: ignore[no-any-return]
    return plain.rotate(q, k, cos, sin, rotated, interleaved=interleaved)


def _use(force: bool) -> str:
    return ALWAYS if force else WHERE_IT_PAYS


def serves(op: str, use: str, x: Tensor, weight: Tensor | None = None, other: Tensor | None = None) -> bool:
    """Can the kernel of this operator run on these tensors, and is it wanted there?"""
    import torch

    alike = other is None or (other.dtype == x.dtype and other.shape == x.shape)
    possible = (
        x.dtype in (torch.float32, torch.float16, torch.bfloat16)
        and (x.device.type == "cuda" or (x.device.type == "cpu" and interprets()))
        and alike
        and (weight is None or (weight.dim() == 1 and weight.device == x.device))
    )
    if not possible:
        return False
    compiling = torch.compiler.is_compiling()
    if use == IN_EAGER_INFERENCE:
        needs_gradient = any(item is not None and item.requires_grad for item in (x, weight, other))
        if compiling or (needs_gradient and torch.is_grad_enabled()):
            return False
    elif use == WHERE_IT_PAYS and not worth_it(op, x.shape, x.dtype, x.device, compiled=compiling):
        return False
    if not compiling:
        register()
    # Dynamo cannot trace the registration: it must have been done before.
    return hasattr(torch.ops.kernel_pytorch, "rms_norm")
