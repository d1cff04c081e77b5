"""The operators: schemas, fake kernels, gradients and compilation; on a CPU, where they compute in torch."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernel_pytorch.models import kernels  # noqa: E402
from kernel_pytorch.models.kernels import (  # noqa: E402
    launch,
    ops,
    worth,
)
from kernel_pytorch.models.kernels.launch import Card  # noqa: E402

pytestmark = pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") == "1", reason="operators are the kernels there")


def wide(*shape: int) -> Any:
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


def operator(name: str) -> Any:
    ops.register()
    return getattr(torch.ops.kernel_pytorch, name)


def cases() -> dict[str, tuple[str, tuple[Any, ...]]]:
    torch.manual_seed(0)
    x, r, w, b = wide(3, 2, 6), wide(3, 2, 6), wide(6), wide(6)
    q, k, angles = wide(2, 4, 3, 6).transpose(1, 2), wide(2, 4, 1, 6).transpose(1, 2), torch.randn(1, 4, 6).double()
    return {
        "rms_norm": ("rms_norm", (x, w, 1e-5, 1.0, False)),
        "rms_norm without weight": ("rms_norm", (x, None, 1e-5, 0.0, False)),
        "add_rms_norm": ("add_rms_norm", (x, r, w, 1e-5, 0.0, True)),
        "layer_norm": ("layer_norm", (x, w, b, 1e-5)),
        "add_layer_norm": ("add_layer_norm", (x, r, w, b, 1e-5)),
        "silu": ("gated", (x, r, "silu")),
        "gelu_tanh": ("gated", (x, r, "gelu_tanh")),
        "gelu_erf": ("gated", (x.transpose(0, 1), r.transpose(0, 1), "gelu_erf")),
        "rope": ("rope", (q, k, angles, angles.cos(), 6, False, False)),
        "rope interleaved": ("rope", (q, k, angles[..., :2], angles[..., 2:4], 4, True, False)),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["rms_norm", "add_rms_norm", "add_layer_norm", "gelu_erf", "rope"])
def test_schema_fake_kernel_and_autograd_hold(name: str) -> None:
    op, arguments = cases()[name]
    # Strides, shapes and dtypes of the fake kernels, registration of the gradients, and AOTAutograd on them.
    torch.library.opcheck(operator(op), arguments)


@pytest.mark.parametrize("name", cases())
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    op, arguments = cases()[name]
    places = [index for index, item in enumerate(arguments) if getattr(item, "requires_grad", False)]

    def call(*given: Any) -> Any:
        values = list(arguments)
        for place, item in zip(places, given, strict=True):
            values[place] = item
        found = operator(op)(*values)
        return tuple(item for item in found if item.requires_grad) if isinstance(found, tuple) else found

    assert torch.autograd.gradcheck(call, tuple(arguments[place].detach().requires_grad_() for place in places))


def test_they_compile_as_one_graph_with_gradients() -> None:
    ops.register()
    x, r, w = (torch.randn(4, 8, requires_grad=True), torch.randn(4, 8), torch.randn(8, requires_grad=True))

    def model(x: Any, r: Any, w: Any) -> Any:
        y, h, _ = torch.ops.kernel_pytorch.add_rms_norm(x, r, w, 1e-5, 0.0, False)
        y, _, _ = torch.ops.kernel_pytorch.layer_norm(y.t(), None, None, 1e-5)
        return torch.ops.kernel_pytorch.gated(y.t(), h, "silu")

    expected = model(x, r, w)
    exact = torch.autograd.grad(expected.square().sum(), (x, w))
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    result = compiled(x, r, w)
    torch.testing.assert_close(result, expected)
    for got, want in zip(torch.autograd.grad(result.square().sum(), (x, w)), exact, strict=True):
        torch.testing.assert_close(got, want)


def test_the_functions_compile_as_one_graph() -> None:
    """Forced or not, on a CPU they are torch's operations; the gate itself must not break the graph."""
    x, r, w = torch.randn(4, 8), torch.randn(4, 8), torch.randn(8)
    q, table = torch.randn(1, 2, 4, 8), torch.randn(1, 4, 8)

    def model(x: Any, r: Any, w: Any, q: Any, table: Any) -> Any:
        y, h = kernels.add_rms_norm(x, r, w)
        y = kernels.layer_norm(kernels.rms_norm(y, w), w, w) + kernels.gelu_mul(y, h, "tanh")
        return kernels.silu_mul(y, h), *kernels.rope(q, q, table, table)

    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    for got, want in zip(compiled(x, r, w, q, table), model(x, r, w, q, table), strict=True):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("rms_norm", (torch.ones(2, 4), torch.ones(3), 1e-5, 0.0, False), "weight has shape"),
        ("add_rms_norm", (torch.ones(2, 4), torch.ones(4), None, 1e-5, 0.0, False), "the residual is"),
        ("layer_norm", (torch.ones(2, 4), None, torch.ones(4), 1e-5), "a bias needs a weight"),
        ("gated", (torch.ones(2), torch.ones(2), "relu"), "relu"),
        ("gated", (torch.ones(2), torch.ones(3), "silu"), "must be alike"),
        ("rope", (torch.ones(1, 1, 2, 6), torch.ones(1, 1, 2, 6), torch.ones(1, 3, 6), torch.ones(1, 3, 6), 6, False,
                  False), "cos is"),
        ("rope", (torch.ones(1, 1, 2, 6), torch.ones(1, 1, 2, 6), torch.ones(1, 2, 5), torch.ones(1, 2, 5), 5, False,
                  False), "in pairs"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(name: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        operator(name)(*arguments)


def test_the_gate_lets_small_and_foreign_tensors_pass_by() -> None:
    large, bf16 = (1 << 16, 8192), torch.bfloat16
    for op in worth.OPERATORS:
        assert not kernels.worth_it(op, (1, 64), bf16, "cuda")
        assert not kernels.worth_it(op, large, bf16, "cpu")
        assert not kernels.worth_it(op, large, torch.float64, "cuda")
    assert kernels.worth_it("rms_norm", large, bf16, "cuda")
    assert kernels.worth_it("rope", (8, 32, 4096, 128), bf16, "cuda:1")
    with pytest.raises(ValueError, match="not one of"):
        kernels.worth_it("softmax", large, bf16, "cuda")


def test_launches_follow_the_wave() -> None:
    wide, narrow = Card("amd", 64, 304), Card("amd", 32, 96)
    for length in (64, 1000, 4096, 8192, 16384, 32768):
        one, other = launch.norm_forward(wide, length), launch.norm_forward(narrow, length)
        assert one.options(wide)["num_warps"] * 2 == other.options(narrow)["num_warps"]
        assert one.options(wide)["num_warps"] * 64 <= 1024
        assert one.block >= length
    assert "waves_per_eu" in launch.norm_forward(wide, 4096).options(wide)
    assert "waves_per_eu" not in launch.norm_forward(Card("nvidia", 32, 132), 4096).options(Card("nvidia", 32, 132))
    assert launch.norm_forward(wide, 100_000).block < 100_000
    assert launch.norm_backward(wide, 4096, 3, center=False).programs == 3
    assert launch.norm_backward(wide, 4096, 10**6, center=False).programs <= 304 * 8


def test_importing_the_package_loads_nothing() -> None:
    code = (
        "import sys; from kernel_pytorch.models import kernels; "
        "assert not {'torch', 'triton'} & set(sys.modules); "
        "kernels.rms_norm; import torch; assert hasattr(torch.ops.kernel_pytorch, 'rms_norm'); "
        "assert 'triton' not in sys.modules or torch.utils._triton.has_triton_package()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
