"""Cases of triton_emulate.py: our own kernels (kernel_pytorch.models.kernels)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch.nn import functional
from triton_emulate_cases import BF16, Pairs, angles, case, turned


def own_card() -> Any:
    """Launches as they are chosen for the emulated card; a CPU tensor would get those of a small NVIDIA one."""
    from triton.runtime import driver

    from kernel_pytorch.models.kernels.launch import Card

    target = driver.active.get_current_target()
    return Card("amd", target.warp_size, 4)


def own(function: Callable[[], Pairs]) -> Pairs:
    from kernel_pytorch.models.kernels import gated, norms, rotary

    card = own_card()
    with (
        mock.patch.object(norms, "card_of", lambda device: card),
        mock.patch.object(gated, "card_of", lambda device: card),
        mock.patch.object(rotary, "card_of", lambda device: card),
    ):
        return function()


def own_norm(length: int, center: bool, residual: bool, dtype: Any) -> Iterator[tuple[str, Any, Any]]:
    from kernel_pytorch.models.kernels import norms

    rows = 5
    x, dy = (torch.randn(rows, length).to(dtype) for _ in range(2))
    other = torch.randn(rows, length).to(dtype) if residual else None
    weight = torch.randn(length).to(dtype)
    bias = torch.randn(length).to(dtype) if center else None
    y, h, mean, rstd = norms.forward(x, other, weight, bias, 1e-5, 0.0, center=center, round_first=False)
    given = h if h is not None else x
    dx, dweight, dbias = norms.backward(
        dy, None, given, mean, rstd, weight, 0.0, round_first=False, needs_weight=True, needs_bias=center
    )
    inputs = [one.double().requires_grad_() for one in (given, weight, bias) if one is not None]
    if center:
        wanted = functional.layer_norm(inputs[0], (length,), inputs[1], inputs[2], 1e-5)
    else:
        wanted = functional.rms_norm(inputs[0], (length,), inputs[1], 1e-5)
    wanted.backward(dy.double())
    yield "output", y, wanted
    yield "gradient of x", dx, inputs[0].grad
    yield "gradient of weight", dweight, inputs[1].grad
    if center:
        yield "gradient of bias", dbias, inputs[2].grad


@case("rms_norm and layer_norm, with residual and without, long rows", "own")
def _() -> Pairs:
    shapes = ((200, False, False), (200, False, True), (300, True, False), (256, True, True), (33000, True, False))
    return own(lambda: [pair for length, c, r in shapes for pair in own_norm(length, c, r, torch.float32)])


@case("rms_norm, bf16", "own", 2e-2)
def _() -> Pairs:
    return own(lambda: list(own_norm(512, False, True, BF16)))


@case("gated activations (silu, gelu, gelu_tanh), forward and backward", "own")
def _() -> Pairs:
    from kernel_pytorch.models.kernels import gated

    plain = {"silu": functional.silu, "gelu": functional.gelu}
    plain["gelu_tanh"] = lambda x: functional.gelu(x, approximate="tanh")

    def run() -> Pairs:
        found: Pairs = []
        for kind, function in plain.items():
            gate, up, dout = (torch.randn(3, 500) for _ in range(3))
            left, right = gate.double().requires_grad_(), up.double().requires_grad_()
            wanted = function(left) * right
            wanted.backward(dout.double())
            dgate, dup = gated.backward(dout, gate, up, kind)
            found += [(kind, gated.forward(gate, up, kind), wanted), (kind, dgate, left.grad), (kind, dup, right.grad)]
        return found

    return own(run)


@case("rope, halves and interleaved, forward and backward", "own")
def _() -> Pairs:
    from kernel_pytorch.models.kernels import rotary

    q, k = torch.randn(2, 4, 7, 72), torch.randn(2, 2, 7, 72)
    cos, sin = angles(7, 64)

    def run() -> Pairs:
        found: Pairs = []
        for interleaved in (False, True):
            out = rotary.rotate(q, k, cos[None], sin[None], 64, interleaved=interleaved, backward=False)
            back = rotary.rotate(*out, cos[None], sin[None], 64, interleaved=interleaved, backward=True)
            found += [
                (f"there and back {index}", one, other)
                for index, (one, other) in enumerate(zip(back, (q, k), strict=True))
            ]
            if not interleaved:
                wanted = [torch.cat([turned(x[..., :64], cos, sin), x[..., 64:]], -1) for x in (q, k)]
                found += [(f"output {index}", *pair) for index, pair in enumerate(zip(out, wanted, strict=True))]
        return found

    return own(run)
