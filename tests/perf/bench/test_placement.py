"""Which device a target is on, with tensors that say so without a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.perf.bench.placement import device_for, runs_on_gpu
from kernel_pytorch.perf.bench.target import Target

torch = pytest.importorskip("torch")


@dataclass
class Placed:
    """All that is asked of a tensor."""

    is_cuda: bool


@pytest.fixture
def a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 512)


def call(*_: Any) -> None:
    return None


@pytest.mark.usefixtures("a_gpu")
def test_inputs_and_parameters_decide() -> None:
    assert runs_on_gpu(Target("t", call, (Placed(True),)))
    assert not runs_on_gpu(Target("t", call, (), {"x": [Placed(False)]}))
    assert not runs_on_gpu(Target("t", torch.nn.Linear(2, 2)))
    assert runs_on_gpu(Target("t", call))  # nothing to go by, and something is on the GPU


@pytest.mark.usefixtures("a_gpu")
def test_targets_on_different_devices_do_not_compare() -> None:
    with pytest.raises(UsageError, match="g is on the GPU, c on the CPU"):
        device_for([Target("c", call, (Placed(False),)), Target("g", call, (Placed(True),))])


@pytest.mark.usefixtures("a_gpu")
def test_a_model_on_the_cpu_is_timed_as_that_beside_a_gpu() -> None:
    assert device_for([Target("c", torch.nn.Linear(2, 2), (torch.ones(2),))]).kind == "cpu"
