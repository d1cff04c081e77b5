"""The Triton kernels of decoding and of narrow weights on a GPU of either vendor, against plain torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kernel_pytorch.core.hardware import UnknownTargetError, base_target, target
from kernel_pytorch.perf.decode import launch as decode
from kernel_pytorch.perf.decode.ops import register as register_decode
from kernel_pytorch.perf.narrow import launch
from kernel_pytorch.perf.narrow.formats import narrowed

pytestmark = pytest.mark.usefixtures("gpu")


def fp8_here() -> torch.dtype | None:
    """The GPU's 8-bit floating point, by the table of targets."""
    major, minor = torch.cuda.get_device_capability(0)
    name = f"sm_{major}{minor}"
    if torch.version.hip is not None:
        name = base_target(str(torch.cuda.get_device_properties(0).gcnArchName))
    try:
        found = target(name).fp8_format
    except UnknownTargetError:
        return None
    return None if found is None else getattr(torch, f"float8_{found}")


def close(found: Any, expected: Any, share: float = 2e-2) -> None:
    assert not found.isnan().any()
    assert float((found.float() - expected.float()).abs().max()) <= share * float(expected.float().abs().max())


@pytest.mark.parametrize("count", [1, 2, 7, 16])
@pytest.mark.parametrize("kind", ["plain", "int8", "int4", "fp8"])
@pytest.mark.parametrize(("rows", "columns"), [(4096, 4096), (1024, 3072), (1001, 14336)])
def test_products_of_narrow_weights(kind: str, count: int, rows: int, columns: int) -> None:
    fp8 = fp8_here()
    if kind == "fp8" and fp8 is None:
        pytest.skip("this GPU has no 8-bit floating point")
    torch.manual_seed(0)
    weight = (torch.randn(rows, columns) * (torch.rand(rows, 1) + 0.5)).bfloat16().cuda()
    narrow = None if kind == "plain" else narrowed(weight, kind, fp8)
    given = (weight, None) if narrow is None else (narrow.bits, narrow.scales)
    x, bias = torch.randn(count, columns).bfloat16().cuda(), torch.randn(rows).bfloat16().cuda()
    for its in (None, bias):
        close(launch.product(x, *given, its, kind), launch.plainly(x, *given, its, kind))
        close(launch.register().product(x, *given, its, kind), launch.plainly(x, *given, its, kind))


@pytest.mark.parametrize("active", ["silu", "gelu_tanh", "gelu_erf"])
def test_gates(active: str) -> None:
    register_decode()
    from kernel_pytorch.perf.decode import plainly

    torch.manual_seed(0)
    gate, up = (torch.randn(6912, 1152).bfloat16().cuda() / 30 for _ in range(2))
    x, norm = torch.randn(1, 1152).bfloat16().cuda(), (torch.rand(1152) - 0.5).bfloat16().cuda()
    args = (x, gate, up, norm, 1e-6, False, 1.0, active)
    close(decode.row_gated(*args), plainly.row_gated(*args))


@pytest.mark.parametrize("neighbours", [False, True])
@pytest.mark.parametrize("overlaps", [False, True])
def test_a_window_of_a_long_cache(neighbours: bool, overlaps: bool) -> None:
    """While kernels overlap, the first block of each part is read whether it is shown or not."""
    from kernel_pytorch.perf.decode import plainly

    torch.manual_seed(0)
    length, size = 16384, 128
    q, k, v = (torch.randn(1, heads, 1, size).bfloat16().cuda() for heads in (16, 4, 4))
    keys, values = (torch.randn(1, 4, length, size).bfloat16().cuda() for _ in range(2))
    at, place = torch.tensor([12000]).cuda(), torch.arange(length).cuda()
    seen = (place <= at) & (place > at - 4096)
    bias = torch.where(seen, 0.0, float("-inf")).bfloat16().view(1, 1, 1, length)
    angles = torch.rand(size // 2).cuda()
    cos, sin = torch.cat([angles.cos()] * 2).bfloat16(), torch.cat([angles.sin()] * 2).bfloat16()
    norms = ((torch.rand(size) - 0.5).bfloat16().cuda(), (torch.rand(size) - 0.5).bfloat16().cuda(), 1e-6)
    rest = (at, bias, cos, sin, size**-0.5, *norms, 0.0, overlaps, 1.0, neighbours)
    own, theirs = (keys.clone(), values.clone()), (keys.clone(), values.clone())
    close(decode.attend_and_store(q, k, v, *own, *rest), plainly.attend_and_store(q, k, v, *theirs, *rest))
    close(own[0], theirs[0])
    for cache in own:
        cache[:, :, 4096:7000] = float("nan")
    if not overlaps:
        close(decode.attend_and_store(q, k, v, *own, *rest), plainly.attend_and_store(q, k, v, *theirs, *rest))
