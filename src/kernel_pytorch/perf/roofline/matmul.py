"""Matrix products: 2 M N K per product, every matrix across the bus once."""

from __future__ import annotations

import math

from kernel_pytorch.perf.roofline.forms import Product, Rows, strides_of
from kernel_pytorch.perf.roofline.shapes import DTYPES, Tensor, tensor
from kernel_pytorch.perf.roofline.work import Model, Work
from kernel_pytorch.perf.trace.recording import Signature

WIDEST_LOAD = 16  # bytes that a lane loads at once
SMALL = 16  # products this narrow wait for memory in any case


def _needed(signature: Signature, *positions: int) -> list[Tensor]:
    found = [tensor(signature, position) for position in positions]
    if any(one is None for one in found):
        raise ValueError("shapes are missing")
    return [one for one in found if one is not None]


def _product(a: Tensor, b: Tensor, output_bytes: int, extra_flops: int = 0, extra_bytes: int = 0) -> Work:
    """a: (..., M, K), b: (..., K, N); the batch is broadcast."""
    m, k = a.shape[-2:]
    k2, n = b.shape[-2:]
    if k != k2:
        raise ValueError(f"{a.shape} x {b.shape}")
    batch = math.prod(_broadcast(a.shape[:-2], b.shape[:-2]))
    flops = 2 * batch * m * n * k + extra_flops
    moved = a.bytes + b.bytes + batch * m * n * output_bytes + extra_bytes
    ragged = min(m, n) > SMALL and (_is_ragged(a) or _is_ragged(b) or n * output_bytes % WIDEST_LOAD != 0)
    return Work(flops, moved, a.arithmetic, matrix=True, form=Product(batch, m, n, k, ragged))


def _is_ragged(one: Tensor) -> bool:
    """Whether the rows, or the columns if those are what lies together, begin anywhere."""
    return max(strides_of(one)[-2:]) * one.element_bytes % WIDEST_LOAD != 0


def _broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    length = max(len(one), len(other))
    left, right = (1,) * (length - len(one)) + one, (1,) * (length - len(other)) + other
    return tuple(max(a, b) for a, b in zip(left, right, strict=True))


def mm(signature: Signature) -> Work:
    """(M, K) x (K, N), or batched."""
    a, b = _needed(signature, 0, 1)
    return _product(a, b, a.element_bytes)


def addmm(signature: Signature) -> Work:
    """bias + (M, K) x (K, N): one addition per output element more, and the bias is read as it is stored."""
    bias, a, b = _needed(signature, 0, 1, 2)
    batch_m_n = math.prod(_broadcast(a.shape[:-2], b.shape[:-2])) * a.shape[-2] * b.shape[-1]
    return _product(a, b, a.element_bytes, extra_flops=batch_m_n, extra_bytes=bias.bytes)


def linear(signature: Signature) -> Work:
    """(..., K) x (N, K) transposed, with an optional bias."""
    x, weight = _needed(signature, 0, 1)
    bias = tensor(signature, 2)
    rows, (n, k) = math.prod(x.shape[:-1]), weight.shape
    flops = 2 * rows * n * k + (rows * n if bias else 0)
    moved = x.bytes + weight.bytes + rows * n * x.element_bytes + (bias.bytes if bias else 0)
    return Work(flops, moved, x.arithmetic, matrix=True, form=Product(1, rows, n, k))


def matmul(signature: Signature) -> Work:
    """torch.matmul's rules for one and two dimensions."""
    a, b = _needed(signature, 0, 1)
    if len(a.shape) == 1:
        a = Tensor((1, *a.shape), a.dtype)
    if len(b.shape) == 1:
        b = Tensor((*b.shape, 1), b.dtype)
    return _product(a, b, a.element_bytes)


def mv(signature: Signature) -> Work:
    """(M, K) x (K)."""
    a, b = _needed(signature, 0, 1)
    return _product(a, Tensor((*b.shape, 1), b.dtype), a.element_bytes)


def dot(signature: Signature) -> Work:
    """(K) x (K)."""
    a, b = _needed(signature, 0, 1)
    return Work(2 * a.count, a.bytes + b.bytes + a.element_bytes, a.arithmetic, form=Rows("reduction", 1, a.count))


def scaled_mm(signature: Signature) -> Work:
    """FP8 or FP4 products: scales are read too, and the output is wider than the inputs."""
    a, b = _needed(signature, 0, 1)
    scales = sum(one.bytes for one in (tensor(signature, 2), tensor(signature, 3)) if one is not None)
    kind = next((name for name in signature.types[4:] if name in DTYPES and DTYPES[name][0] == 2), "c10::BFloat16")
    return _product(a, b, DTYPES[kind][0], extra_bytes=scales)


MODELS: dict[str, Model] = {
    "mm": mm,
    "bmm": mm,
    "addmm": addmm,
    "addmm_": addmm,
    "_addmm_activation": addmm,
    "baddbmm": addmm,
    "baddbmm_": addmm,
    "linear": linear,
    "matmul": matmul,
    "mv": mv,
    "dot": dot,
    "vdot": dot,
    "_int_mm": mm,
    "_scaled_mm": scaled_mm,
}
