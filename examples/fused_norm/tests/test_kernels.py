"""The project's own tests, written for a machine with a GPU. `python setup.py build_ext --inplace` comes first."""

import pytest
import torch

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.parametrize("shape", [(37, 1000), (2, 3, 256), (1, 32)])
def test_rmsnorm_extension(shape: tuple[int, ...]) -> None:
    from fused_norm._C import rmsnorm_forward

    torch.manual_seed(0)
    x, weight = torch.randn(shape, device="cuda"), torch.rand(shape[-1], device="cuda")
    wanted = torch.nn.functional.rms_norm(x, (shape[-1],), weight, 1e-5)
    torch.testing.assert_close(rmsnorm_forward(x, weight, 1e-5), wanted)


def test_rmsnorm_refuses_a_cpu_tensor() -> None:
    from fused_norm._C import rmsnorm_forward

    with pytest.raises(RuntimeError, match="contiguous float CUDA tensor"):
        rmsnorm_forward(torch.ones(2, 4), torch.ones(4), 1e-5)


@pytest.mark.parametrize(("rows", "width"), [(4, 96), (3, 1500)])
def test_swiglu_triton(rows: int, width: int) -> None:
    from fused_norm.swiglu import swiglu

    torch.manual_seed(0)
    x = torch.randn(rows, 2 * width, device="cuda")
    gate, value = x.chunk(2, dim=-1)
    torch.testing.assert_close(swiglu(x), torch.nn.functional.silu(gate) * value)


def test_a_block_trains() -> None:
    """A linear layer around the Triton kernel: torch's operators and ours on one device."""
    from fused_norm.swiglu import swiglu

    torch.manual_seed(0)
    projection = torch.nn.Linear(64, 128, device="cuda")
    x = torch.randn(8, 64, device="cuda")
    before = torch.nn.functional.mse_loss(torch.nn.functional.glu(projection(x)), x)
    before.backward()
    with torch.no_grad():
        for parameter in projection.parameters():
            parameter -= 0.1 * parameter.grad
    assert torch.nn.functional.mse_loss(torch.nn.functional.glu(projection(x)), x) < before
    assert torch.isfinite(swiglu(projection(x))).all()
