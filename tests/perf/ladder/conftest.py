"""A small model and its inputs."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from kernel_pytorch.perf.ladder.breaks import Breaks
from tests.perf.ladder.made import Model


@pytest.fixture
def model() -> nn.Module:
    torch.manual_seed(0)
    return Model().eval()


@pytest.fixture
def inputs() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(1)
    return (torch.randn(3, 16),)


@pytest.fixture(autouse=True)
def quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Profiling and tracing take a second each: left out but where a test is about them (`real`)."""
    if "real" in request.fixturenames:
        return
    monkeypatch.setattr("kernel_pytorch.perf.ladder.climb.profile_of", lambda candidate, inputs: None)
    monkeypatch.setattr("kernel_pytorch.perf.ladder.attempt.traced_breaks", lambda function, inputs: Breaks(0))


@pytest.fixture
def real() -> None:
    """For a test that wants the profiler and Dynamo's count of graph breaks."""
