"""prepare_model on the CPU: precision at the boundary, keys, rollback, compile."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from kernel_pytorch.backends.amd import AMDBackend  # noqa: E402
from kernel_pytorch.backends.cpu import CPUBackend  # noqa: E402
from kernel_pytorch.backends.nvidia import NVIDIABackend  # noqa: E402
from kernel_pytorch.backends.prepare import preparation_of  # noqa: E402
from kernel_pytorch.core.config import AMDConfig  # noqa: E402
from kernel_pytorch.core.errors import AMDBackendError, AMDConfigurationError  # noqa: E402
from kernel_pytorch.models.boundary import boundary_of  # noqa: E402


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.GELU(), nn.Linear(16, 4))


def low(precision: str = "bf16", **options: Any) -> CPUBackend:
    return CPUBackend(AMDConfig(default_precision=precision, **options))


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@pytest.mark.parametrize("mixed", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_fp32_inputs_work(precision: str, mixed: bool, training: bool) -> None:
    model = network().train(training)
    reference = copy.deepcopy(model)
    prepared = low(precision, enable_mixed_precision=mixed).prepare_model(model)
    x = torch.randn(32, 8)
    y = prepared(x)
    assert y.dtype == torch.float32
    torch.testing.assert_close(y, reference(x), rtol=5e-2, atol=5e-2)
    assert not torch.equal(y, reference(x)), "it was computed in 16 bits"
    loss = nn.functional.mse_loss(y, torch.randn(32, 4))
    loss.backward()
    weights = torch.float32 if mixed and training else {"bf16": torch.bfloat16, "fp16": torch.float16}[precision]
    for name, parameter in prepared.named_parameters():
        batch_norm = name.startswith("1.")
        assert parameter.dtype == (torch.float32 if batch_norm else weights), name
        assert parameter.grad is not None and parameter.grad.dtype == parameter.dtype


def test_training_converges_and_fp32_weights_stay() -> None:
    torch.manual_seed(0)
    model = low().prepare_model(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(64, 4)
    y = x @ torch.tensor([[1.0], [2.0], [-1.0], [0.5]])
    first = nn.functional.mse_loss(model(x), y).item()
    for _ in range(50):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.01 * first
    assert model.weight.dtype == torch.float32


def test_outputs_come_back_in_the_dtype_of_the_inputs() -> None:
    model = low(enable_mixed_precision=False).prepare_model(nn.Linear(8, 4))
    assert model(torch.randn(2, 8)).dtype == torch.float32
    assert model(torch.randn(2, 8, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_nested_and_keyword_inputs_are_cast_and_integers_are_not() -> None:
    class Nested(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, pair: tuple[Any, Any], *, extra: dict[str, Any]) -> dict[str, Any]:
            a, index = pair
            assert index.dtype == torch.int64
            return {"out": self.layer(a) + extra["bias"], "seen": a.dtype}

    model = low(enable_mixed_precision=False).prepare_model(Nested())
    result = model((torch.randn(2, 4), torch.arange(2)), extra={"bias": torch.randn(4)})
    assert result["out"].dtype == torch.float32 and result["seen"] == torch.bfloat16


def test_a_model_of_16_bit_weights_takes_fp32_inputs_under_fp32_too() -> None:
    model = CPUBackend().prepare_model(nn.Linear(8, 4).to(torch.bfloat16))
    assert model.weight.dtype == torch.bfloat16, "nothing is widened behind the caller's back"
    assert model(torch.randn(2, 8)).dtype == torch.float32


def test_fp32_changes_nothing() -> None:
    model = network().eval()
    x = torch.randn(4, 8)
    before = model(x)
    prepared = CPUBackend().prepare_model(model)
    assert prepared is model and boundary_of(model) is None
    assert torch.equal(model(x), before)


def test_recurrent_models_work_in_16_bits() -> None:
    model = low(enable_mixed_precision=False).prepare_model(nn.LSTM(4, 8, batch_first=True).eval())
    out, (h, c) = model(torch.randn(2, 3, 4))
    assert out.dtype == h.dtype == c.dtype == torch.float32


def test_tied_weights_stay_tied() -> None:
    model = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False))
    model[1].weight = model[0].weight
    low(enable_mixed_precision=False).prepare_model(model)
    assert model[0].weight is model[1].weight and model[0].weight.dtype == torch.bfloat16


@pytest.mark.parametrize("kind", [AMDBackend, NVIDIABackend, CPUBackend])
def test_keys_class_signature_and_optimizer_survive(kind: type) -> None:
    model = network()
    keys, parameters = list(model.state_dict()), list(model.parameters())
    prepared = kind(AMDConfig(default_precision="bf16")).prepare_model(model)
    assert prepared is model and type(model) is nn.Sequential
    assert list(model.state_dict()) == keys
    assert all(a is b for a, b in zip(model.parameters(), parameters, strict=True))
    assert list(inspect.signature(model.forward).parameters) == ["input"]


def test_a_prepared_model_is_copied_and_pickled() -> None:
    model = low().prepare_model(network().eval())
    x = torch.randn(4, 8)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(other(x), model(x))
        boundary = boundary_of(other)
        assert boundary is not None and boundary.module is other


def test_preparing_twice_replaces_the_first() -> None:
    model = network().eval()
    low("bf16").prepare_model(model)
    low("fp16", enable_mixed_precision=False).prepare_model(model)
    assert model[0].weight.dtype == torch.float16
    assert preparation_of(model).precision.name == "fp16"
    assert model(torch.randn(2, 8)).dtype == torch.float32


def test_a_forward_that_a_library_put_there_is_still_called() -> None:
    model = nn.Linear(4, 4)
    calls = []

    def own(x: Any) -> Any:
        calls.append(x.dtype)
        return nn.Linear.forward(model, x)

    model.forward = own
    low(enable_mixed_precision=False).prepare_model(model)
    model(torch.randn(1, 4))
    assert calls == [torch.bfloat16]
    CPUBackend().prepare_model(model.float())
    assert model.forward is own


class Breaks(nn.Module):
    """Converts its first parameter, then fails, as a device that is out of memory does."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3))

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        if fn(torch.zeros(1)).dtype != torch.float32:
            raise RuntimeError("no room for this")
        return super()._apply(fn, recurse)


def test_a_model_that_cannot_be_prepared_is_left_as_it_was() -> None:
    model = nn.Sequential(nn.Linear(4, 4), Breaks())
    model[0].weight.grad = torch.ones(4, 4)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    with pytest.raises(AMDBackendError, match=r"could not be prepared and was left as it was: no room for this"):
        low(enable_mixed_precision=False).prepare_model(model)
    for key, value in model.state_dict().items():
        assert value.dtype == torch.float32 and torch.equal(value, before[key])
    assert model[0].weight.grad.dtype == torch.float32
    assert "forward" not in model.__dict__ and not model._load_state_dict_pre_hooks


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (object(), "takes a torch.nn.Module, not object"),
        (nn.LazyLinear(4), "lazy parameter without a shape"),
        (nn.Linear(2, 2, device="meta"), "meta device and has no values"),
        (torch.jit.script(nn.Linear(2, 2)), "scripted model's forward is fixed"),
    ],
)
def test_what_cannot_be_prepared_says_why(model: Any, message: str) -> None:
    with pytest.raises(AMDBackendError, match=message):
        low().prepare_model(model)


def test_bad_options_are_named() -> None:
    for options, word in (
        ({"parallel": "dp"}, "parallel"),
        ({"compile": "fast"}, "compile"),
        ({"memory_format": "nhwc"}, "memory_format"),
    ):
        with pytest.raises(AMDConfigurationError, match=word):
            CPUBackend().prepare_model(nn.Linear(2, 2), **options)


def test_channels_last_is_set_when_asked() -> None:
    model = CPUBackend().prepare_model(nn.Conv2d(4, 8, 3), memory_format="channels_last")
    assert model.weight.is_contiguous(memory_format=torch.channels_last)
    assert CPUBackend().prepare_model(nn.Conv2d(4, 8, 3)).weight.is_contiguous()


def test_compile_goes_through_the_boundary_and_keeps_the_keys() -> None:
    model = network().eval()
    keys = list(model.state_dict())
    prepared = low(enable_mixed_precision=False).prepare_model(model, compile={"backend": "eager", "fullgraph": True})
    eager = copy.deepcopy(prepared)
    eager._compiled_call_impl = None
    x = torch.randn(4, 8)
    torch.testing.assert_close(prepared(x), eager(x))
    assert list(prepared.state_dict()) == keys and preparation_of(prepared).compiled


def test_parallel_with_one_process_is_said_to_have_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    model = nn.Linear(2, 2)
    assert CPUBackend().prepare_model(model, parallel="ddp") is model
    CPUBackend().prepare_model(model, parallel="ddp")
    assert sum("no effect with one process" in line for line in caplog.messages) <= 1


def test_grad_scaler_is_at_work_only_in_fp16() -> None:
    assert low("fp16").grad_scaler().is_enabled()
    assert not low("bf16").grad_scaler().is_enabled()
