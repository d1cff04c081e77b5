"""The kernels in Triton's interpreter against fp64, forward and backward: what `test_kernels_interpreted` asks for.

    TRITON_INTERPRET=1 python -m tests.models.kernels.interpreted_checks
    python -m tests.models.kernels.interpreted_checks cuda            the same on a GPU (tests/hw)

Prints one JSON object: for each check its largest error as a part of what is allowed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import functional

from kernel_pytorch.models import kernels
from kernel_pytorch.models.kernels import gated, norms, plain
from kernel_pytorch.models.kernels.launch import Launch

# Of the norm of the difference to that of the exact result: some roundings of the dtype.
ALLOWED = {torch.float32: 1e-6, torch.float16: 2e-3, torch.bfloat16: 1.2e-2}
Named = Iterator[tuple[str, float]]


def difference(got: Any, exact: Any) -> float:
    if tuple(got.shape) != tuple(exact.shape):
        return float("inf")
    if got.numel() == 0:
        return 0.0
    value = float((got.detach().double() - exact.detach()).norm() / exact.detach().norm().clamp_min(1e-12))
    return value if value == value else float("inf")


def worst(function: Callable[..., Any], exact: Callable[..., Any], values: list[Any], dtype: Any) -> float:
    """The largest error among outputs and gradients, as a part of what is allowed."""
    wide = [
        item.detach().double().requires_grad_(item.requires_grad) if isinstance(item, torch.Tensor) else item
        for item in values
    ]
    results = []
    for call, given in ((function, values), (exact, wide)):
        outs = call(*given)
        outs = list(outs) if isinstance(outs, (tuple, list)) else [outs]
        torch.manual_seed(5)
        gradients = [torch.randn(item.shape).to(dtype).to(item.dtype) for item in outs]
        wanted = [item for item in given if isinstance(item, torch.Tensor) and item.requires_grad]
        results.append([*outs, *torch.autograd.grad(outs, wanted, gradients)])
    assert all(item.dtype == dtype for item in results[0])
    return max(difference(*pair) for pair in zip(*results, strict=True)) / ALLOWED[dtype]


def tensor(*shape: int, dtype: Any = torch.float32) -> Any:
    return torch.randn(shape).to(dtype).requires_grad_()


def exact_rms(x: Any, weight: Any, offset: float = 0.0) -> Any:
    normal = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)
    return normal if weight is None else normal * (weight + offset)


def exact_layer(x: Any, weight: Any, bias: Any) -> Any:
    return functional.layer_norm(x, x.shape[-1:], weight, bias, 1e-5)


def check_norms() -> Named:
    force: dict[str, Any] = {"force": True}
    shapes: list[tuple[tuple[int, ...], Any]] = [
        ((3, 16), torch.float32),
        ((2, 3, 100), torch.bfloat16),
        ((5, 257), torch.float32),
        ((2, 1024), torch.float16),
        ((0, 8), torch.float32),
        ((2, 3), torch.float32),
    ]
    for shape, dtype in shapes:
        width = shape[-1]
        x, r = tensor(*shape, dtype=dtype), tensor(*shape, dtype=dtype)
        w, b = tensor(width, dtype=dtype), tensor(width, dtype=dtype)
        name = f"{'x'.join(map(str, shape))} {str(dtype).removeprefix('torch.')}"
        yield (
            f"rms_norm {name}",
            worst(lambda x, w: kernels.rms_norm(x, w, 1e-5, offset=1.0, **force), lambda x, w: exact_rms(x, w, 1.0),
                  [x, w], dtype),
        )  # fmt: skip
        yield (
            f"add_layer_norm {name}",
            worst(lambda x, r, w, b: kernels.add_layer_norm(x, r, w, b, 1e-5, **force),
                  lambda x, r, w, b: (exact_layer(x + r, w, b), x + r), [x, r, w, b], dtype),
        )  # fmt: skip
    x, r, w, b = tensor(4, 40), tensor(4, 40), tensor(40), tensor(40)
    yield (
        "add_rms_norm",
        worst(lambda x, r, w: kernels.add_rms_norm(x, r, w, 1e-5, **force),
              lambda x, r, w: (exact_rms(x + r, w), x + r), [x, r, w], torch.float32),
    )  # fmt: skip
    yield "layer_norm", worst(lambda *a: kernels.layer_norm(*a, **force), exact_layer, [x, w, b], torch.float32)
    yield (
        "layer_norm without bias",
        worst(lambda x, w: kernels.layer_norm(x, w, **force), lambda x, w: exact_layer(x, w, None), [x, w],
              torch.float32),
    )  # fmt: skip
    yield (
        "norms without weight",
        worst(lambda x, r: (kernels.rms_norm(x, None, 1e-5, **force), *kernels.add_layer_norm(x, r, **force)),
              lambda x, r: (exact_rms(x, None), exact_layer(x + r, None, None), x + r), [x, r], torch.float32),
    )  # fmt: skip
    frozen = w.detach()
    yield (
        "a weight without gradient",
        worst(lambda x, w: kernels.rms_norm(x, w, 1e-5, **force), exact_rms, [x, frozen], torch.float32),
    )
    for change in (lambda x: x.transpose(0, 1), lambda x: x[:, ::2], lambda x: x[1:, 3:], lambda x: x.expand(3, 4, 40)):
        x = tensor(4, 40)
        w = tensor(change(x).shape[-1])
        error = worst(
            lambda x, w, change=change: kernels.rms_norm(change(x), w, 1e-5, **force),
            lambda x, w, change=change: exact_rms(change(x), w), [x, w], torch.float32,
        )  # fmt: skip
        yield f"rms_norm of strides {change(x).stride()}", error
    yield "only the sum is used", worst(
        lambda x, r, w: kernels.add_rms_norm(x, r, w, **force)[1], lambda x, r, w: x + r + 0 * w.sum(),
        [tensor(4, 8), tensor(4, 8), torch.ones(8)], torch.float32,
    )  # fmt: skip
    large = (1e4 + torch.randn(3, 64)).requires_grad_()  # where E[x^2] - E[x]^2 would be noise
    yield "layer_norm far from zero", worst(
        lambda x: kernels.layer_norm(x, **force), lambda x: exact_layer(x, None, None), [large], torch.float32
    ) / 1e3  # fmt: skip


def check_long_rows() -> Named:
    """Rows in pieces: the path of rows that do not fit into registers, with short pieces."""
    pieces = Launch(block=64, rows=1, threads=64)
    for center in (False, True):
        x, r = torch.randn(5, 200) + 3.0, torch.randn(5, 200)
        w, b = torch.randn(200), torch.randn(200) if center else None
        args: dict[str, Any] = {"center": center, "round_first": False}
        got = norms.forward(x, r, w, b, 1e-5, 0.0, **args, chosen=pieces)
        wide = [item.double() if item is not None else None for item in (x, r, w, b)]
        exact = plain.norm_forward(*wide, 1e-5, 0.0, **args)
        error = max(difference(*pair) for pair in zip(got, exact, strict=True) if pair[0] is not None)
        yield f"long rows, {'layer' if center else 'rms'} norm", error / 1e-6
        dy, dh = torch.randn(5, 200), torch.randn(5, 200)
        named: dict[str, Any] = {"round_first": False, "needs_weight": True, "needs_bias": center}
        back = norms.backward(dy, dh, got[1], got[2], got[3], w, 0.0, **named, chosen=pieces)
        exact_back = plain.norm_backward(dy.double(), dh.double(), *exact[1:], w.double(), 0.0, **named)
        pairs = zip(back, exact_back, strict=True)
        error = max(difference(*pair) for pair in pairs if pair[0] is not None)
        yield f"long rows, {'layer' if center else 'rms'} norm, gradients", error / 1e-6
    # All ways a program goes through its rows.
    x, dy, w = torch.randn(11, 24), torch.randn(11, 24), torch.randn(24)
    _, _, mean, rstd = norms.forward(x, None, w, None, 1e-5, 0.0, center=True, round_first=False)
    named = {"round_first": False, "needs_weight": True, "needs_bias": True}
    wide = [item.double() for item in (x, mean, rstd, w)]
    exact_back = plain.norm_backward(dy.double(), None, *wide, 0.0, **named)
    for rows, prefetch, hold in ((1, True, True), (1, False, False), (2, True, False), (4, False, True)):
        chosen = Launch(32, rows, 64, programs=2, prefetch=prefetch, hold=hold)
        got_back = norms.backward(dy, None, x, mean, rstd, w, 0.0, **named, chosen=chosen)
        error = max(difference(*pair) for pair in zip(got_back, exact_back, strict=True))
        yield f"backward, {rows} rows at a time, prefetch {prefetch}, hold {hold}", error / 1e-6


def check_gated() -> Named:
    functions: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
        "silu": (kernels.silu_mul, lambda a, b: functional.silu(a) * b),
        "gelu_tanh": (
            lambda a, b, force: kernels.gelu_mul(a, b, "tanh", force=force),
            lambda a, b: functional.gelu(a, approximate="tanh") * b,
        ),
        "gelu_erf": (kernels.gelu_mul, lambda a, b: functional.gelu(a) * b),
    }
    for name, (ours, exact) in functions.items():
        forced = lambda a, b, ours=ours: ours(a, b, force=True)  # noqa: E731
        for dtype in ALLOWED:
            values = [tensor(3, 50, dtype=dtype), tensor(3, 50, dtype=dtype)]
            yield f"{name} {str(dtype).removeprefix('torch.')}", worst(forced, exact, values, dtype)
        joined = tensor(3, 2, 140)
        yield f"{name} of halves", worst(
            lambda x, forced=forced: forced(*x.chunk(2, -1)), lambda x, exact=exact: exact(*x.chunk(2, -1)), [joined],
            torch.float32,
        )  # fmt: skip
        yield f"{name} empty", worst(forced, exact, [tensor(0, 4), tensor(0, 4)], torch.float32)
        # Large values saturate: neither an overflow nor 0 * inf.
        steep = torch.tensor([-1e30, -1e5, -80.0, -20.0, 20.0, 80.0, 1e5, 1e30], requires_grad=True)
        yield f"{name} of large values", _each(forced, exact, steep)
        odd = gated.forward(torch.tensor([float("nan"), float("inf")]), torch.ones(2), name)
        yield f"{name} of nan and inf", 0.0 if odd[0].isnan() and odd[1] == float("inf") else float("inf")


def _each(forced: Callable[..., Any], exact: Callable[..., Any], steep: Any) -> float:
    """Value by value, since the largest would hide the others."""
    largest = 0.0
    wide = steep.detach().double().requires_grad_()
    got, want = forced(steep, torch.ones(len(steep))), exact(wide, torch.ones(len(steep), dtype=torch.float64))
    slopes = torch.autograd.grad(got.sum(), steep), torch.autograd.grad(want.sum(), wide)
    for one, other in ((got, want), (slopes[0][0], slopes[1][0])):
        error = (one.detach().double() - other.detach()).abs() / (other.detach().abs() + 1.0)
        largest = max(largest, float(error.max()) if error.isfinite().all() else float("inf"))
    return largest / 1e-6


def check_rope() -> Named:
    for interleaved in (False, True):
        for rotated, halved, tokens_first, batch in ((16, False, True, 1), (10, True, False, 2), (16, True, True, 2)):
            shapes = [(2, 5, heads, 16) if tokens_first else (2, heads, 5, 16) for heads in (3, 1)]
            q, k = (tensor(*shape) for shape in shapes)
            angles = [torch.randn(batch, 5, rotated // 2 if halved else rotated) for _ in range(2)]

            def ours(q: Any, k: Any, c: Any, s: Any, first: bool = tokens_first, **named: Any) -> Any:
                return kernels.rope(*((x.transpose(1, 2) for x in (q, k)) if first else (q, k)), c, s, **named)

            def exact(q: Any, k: Any, c: Any, s: Any, first: bool = tokens_first, **named: Any) -> Any:
                named.pop("force")
                count = named.pop("rotated")
                return plain.rotate(*((x.transpose(1, 2) for x in (q, k)) if first else (q, k)), c, s, count, **named)

            named: dict[str, Any] = {"interleaved": interleaved, "rotated": rotated, "force": True}
            error = worst(
                lambda *a, ours=ours, named=named: ours(*a, **named),
                lambda *a, exact=exact, named=named: exact(*a, **named), [q, k, *angles], torch.float32,
            )  # fmt: skip
            yield f"rope {'interleaved' if interleaved else 'halves'} {rotated} {halved} {tokens_first}", error
    q, k = tensor(1, 2, 3, 8, dtype=torch.bfloat16), tensor(1, 0, 3, 8, dtype=torch.bfloat16)
    table = torch.randn(1, 3, 8)

    def turned(x: Any) -> Any:
        return torch.cat((-x[..., 4:], x[..., :4]), dim=-1)

    def by_hand(q: Any, k: Any, c: Any, s: Any) -> Any:  # as models write it, with both tables whole
        return tuple(x * c.unsqueeze(1) + turned(x) * s.unsqueeze(1) for x in (q, k))

    values = [q, k, table.cos(), table.sin()]
    yield "rope as models write it", worst(lambda *a: kernels.rope(*a, force=True), by_hand, values, torch.bfloat16)


def main(device: str = "cpu") -> int:
    torch.set_default_device(device)
    torch.manual_seed(0)
    found: dict[str, float] = {}
    for check in (check_norms, check_long_rows, check_gated, check_rope):
        found.update(check())
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
