"""Checkpoints across back ends, and FP8 across its two formats."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from kernel_pytorch.backends.checkpoints import (  # noqa: E402
    adapt_fp8,
    load_portable_state_dict,
    portable_state_dict,
)
from kernel_pytorch.backends.cpu import CPUBackend  # noqa: E402
from kernel_pytorch.core.config import AMDConfig  # noqa: E402
from kernel_pytorch.core.errors import AMDBackendError  # noqa: E402


@pytest.mark.parametrize(("first", "second"), [("bf16", "fp32"), ("fp32", "bf16"), ("fp16", "bf16")])
@pytest.mark.parametrize("mixed", [True, False])
def test_training_goes_on_in_another_precision(first: str, second: str, mixed: bool) -> None:
    def backend(precision: str) -> CPUBackend:
        return CPUBackend(AMDConfig(default_precision=precision, enable_mixed_precision=mixed))

    torch.manual_seed(0)
    source = backend(first).prepare_model(nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 2)))
    state = portable_state_dict(source)
    target = backend(second).prepare_model(nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 2)))
    load_portable_state_dict(target, state)
    x = torch.randn(4, 8)
    torch.testing.assert_close(target(x), source(x), rtol=5e-2, atol=5e-2)
    optimizer = torch.optim.SGD(target.parameters(), lr=0.1)
    before = target[0].weight.detach().clone()
    nn.functional.mse_loss(target(x), torch.zeros(4, 2)).backward()
    optimizer.step()
    assert not torch.equal(target[0].weight, before)


def every_value(dtype: torch.dtype) -> torch.Tensor:
    """All finite FP8 numbers that have a counterpart in the other format."""
    bits = torch.arange(256, dtype=torch.uint8)
    keep = (bits & 0x7F) < (0x7F if "e4m3" in str(dtype) else 0x7C)
    if "fnuz" in str(dtype):
        keep &= bits != 0x80
    return bits[keep].view(dtype)


@pytest.mark.parametrize(
    ("target", "source", "expected", "factor"),
    [
        ("gfx942", torch.float8_e4m3fn, torch.float8_e4m3fnuz, 2.0),
        ("gfx950", torch.float8_e4m3fnuz, torch.float8_e4m3fn, 0.5),
        ("gfx1201", torch.float8_e4m3fnuz, torch.float8_e4m3fn, 0.5),
        ("sm_90", torch.float8_e4m3fn, torch.float8_e4m3fn, 1.0),
        ("gfx942", torch.float8_e5m2, torch.float8_e5m2fnuz, 2.0),
        ("gfx950", torch.float8_e5m2fnuz, torch.float8_e5m2, 0.5),
        ("gfx942", torch.float8_e5m2fnuz, torch.float8_e5m2fnuz, 1.0),
    ],
)
def test_every_fp8_number_keeps_its_value(target: str, source: object, expected: object, factor: float) -> None:
    weight = every_value(source)
    state = {"layer.weight": weight, "layer.weight_scale": torch.tensor(0.25), "layer.bias": torch.ones(2)}
    adapted = adapt_fp8(state, target)
    assert adapted["layer.weight"].dtype == expected and adapted["layer.weight_scale"] == 0.25 * factor
    new = adapted["layer.weight"].float() * adapted["layer.weight_scale"]
    assert torch.equal(new, weight.float() * 0.25) and not new.isnan().any()
    assert torch.equal(state["layer.weight"].view(torch.uint8), weight.view(torch.uint8)), "the input is not touched"


def test_fp8_that_cannot_be_carried_over_is_refused_by_name() -> None:
    good = every_value(torch.float8_e4m3fn)
    nan = torch.tensor([0x7F], dtype=torch.uint8).view(torch.float8_e4m3fn)
    with pytest.raises(AMDBackendError, match="w is FP8 in another GPU's format and has no scale"):
        adapt_fp8({"w": good}, "gfx942")
    with pytest.raises(AMDBackendError, match="w holds NaN or infinity"):
        adapt_fp8({"w": nan, "w_scale": torch.ones(1)}, "gfx942")
    with pytest.raises(AMDBackendError, match=r"w is FP8, which gfx90a \(CDNA2\) does not have"):
        adapt_fp8({"w": good, "w_scale": torch.ones(1)}, "gfx90a")
    largest = torch.tensor([0x7F], dtype=torch.uint8).view(torch.float8_e4m3fnuz)
    with pytest.raises(AMDBackendError, match="240"):
        adapt_fp8({"w": largest, "w_scale": torch.ones(1)}, "gfx950")
    infinite = torch.tensor([0x7C], dtype=torch.uint8).view(torch.float8_e5m2)
    with pytest.raises(AMDBackendError, match="w holds NaN or infinity"):
        adapt_fp8({"w": infinite, "w_scale": torch.ones(1)}, "gfx942")


def test_fp8_numbers_are_not_copied_into_other_weights_without_their_scale() -> None:
    model = CPUBackend().prepare_model(nn.Sequential(nn.Linear(2, 2, bias=False)))
    before = model[0].weight.detach().clone()
    with pytest.raises(AMDBackendError, match=r"0\.weight is torch\.float8_e4m3fn in the checkpoint"):
        model.load_state_dict({"0.weight": torch.ones(2, 2).to(torch.float8_e4m3fn)})
    assert torch.equal(model[0].weight, before)
    model.load_state_dict({"0.weight": torch.ones(2, 2, dtype=torch.bfloat16)})
    assert torch.equal(model[0].weight, torch.ones(2, 2))


def test_scales_of_other_kinds() -> None:
    weight = every_value(torch.float8_e4m3fn)
    blocks = torch.tensor([0.5, 3.0], dtype=torch.bfloat16)
    assert torch.equal(adapt_fp8({"w": weight, "w_scale_inv": blocks}, "gfx942")["w_scale_inv"], blocks * 2)
    powers = torch.tensor([120, 127, 0], dtype=torch.uint8).view(torch.float8_e8m0fnu)
    doubled = adapt_fp8({"w": weight, "w_scale": powers}, "gfx942")["w_scale"]
    assert torch.equal(doubled.float(), powers.float() * 2)
    for scale in (
        torch.tensor([60000.0], dtype=torch.float16),
        powers.view(torch.uint8).fill_(0xFE).view(powers.dtype),
    ):
        with pytest.raises(AMDBackendError, match="w_scale leaves the range"):
            adapt_fp8({"w": weight, "w_scale": scale}, "gfx942")


class Quantised(nn.Module):
    """A layer with FP8 weights and their scale, in the format of its GPU."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.register_buffer("weight", torch.zeros(4, 4).to(dtype))
        self.register_buffer("weight_scale", torch.ones(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ (self.weight.float() * self.weight_scale)


def test_a_quantised_model_goes_from_nvidia_to_amd_and_back() -> None:
    torch.manual_seed(0)
    source = CPUBackend().prepare_model(Quantised(torch.float8_e4m3fn))
    source.weight.copy_(torch.randn(4, 4).to(torch.float8_e4m3fn))
    source.weight_scale.fill_(0.125)
    x = torch.randn(3, 4)
    amd = CPUBackend().prepare_model(Quantised(torch.float8_e4m3fnuz))
    state = portable_state_dict(source)
    with pytest.raises(AMDBackendError, match="without its scale the numbers would be wrong"):
        amd.load_state_dict(state)
    load_portable_state_dict(amd, state, "gfx942")
    assert torch.equal(amd(x), source(x)) and amd.weight.dtype == torch.float8_e4m3fnuz
    back = CPUBackend().prepare_model(Quantised(torch.float8_e4m3fn))
    load_portable_state_dict(back, portable_state_dict(amd), "sm_90")
    assert torch.equal(back(x), source(x)) and back.weight_scale == 0.125
