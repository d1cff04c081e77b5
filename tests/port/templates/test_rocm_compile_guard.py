"""The guard changes what Inductor is asked for on ROCm, and nothing on NVIDIA."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernel_pytorch.port.templates import rocm_compile_guard as guard  # noqa: E402


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """The settings that reach Inductor; the graph itself runs uncompiled."""
    import torch._inductor.compile_fx as compile_fx

    found: list[dict[str, Any]] = []

    def record(model: Any, inputs: Any, config_patches: dict[str, Any] | None = None, **others: Any) -> Any:
        found.append(dict(config_patches or {}))
        return model.forward

    monkeypatch.setattr(compile_fx, "compile_fx", record)
    torch._dynamo.reset()
    yield found
    torch._dynamo.reset()


@pytest.fixture
def on_rocm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(torch.version, "hip", "7.0.0", raising=False)
    monkeypatch.setattr(guard, "_warned", set())
    undo = guard.install()
    yield
    undo()


def double(x: Any) -> Any:
    return x * 2


def run(**arguments: Any) -> None:
    torch._dynamo.reset()
    result = torch.compile(double, **arguments)(torch.ones(3))
    assert result.tolist() == [2.0, 2.0, 2.0]


def test_nvidia_is_left_alone(seen: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "hip", None, raising=False)
    before = torch.compile
    guard.install()
    assert torch.compile is before
    run(mode="reduce-overhead")
    assert seen[-1].get("triton.cudagraphs") is True


def test_modes_lose_their_capture(seen: list[dict[str, Any]], on_rocm: None) -> None:
    run(mode="reduce-overhead")
    assert "triton.cudagraphs" not in seen[-1]
    run(mode="max-autotune")
    assert "max_autotune" not in seen[-1], "the search goes with the capture"
    assert "triton.cudagraphs" not in seen[-1]


def test_options_lose_their_capture(seen: list[dict[str, Any]], on_rocm: None) -> None:
    options = {"triton.cudagraphs": True, "epilogue_fusion": True}
    run(options=options)
    assert seen[-1]["triton.cudagraphs"] is False
    assert seen[-1]["epilogue_fusion"] is True
    assert options["triton.cudagraphs"] is True, "the caller's dictionary is not changed"


def test_other_calls_pass(seen: list[dict[str, Any]], on_rocm: None) -> None:
    run()
    run(mode="default")
    assert all("triton.cudagraphs" not in item for item in seen)


def test_a_module_that_compiles_itself_is_reached(seen: list[dict[str, Any]], on_rocm: None) -> None:
    class Doubler(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return double(x)

    module = Doubler()
    module.compile(mode="reduce-overhead")
    module(torch.ones(3))
    assert "triton.cudagraphs" not in seen[-1]


def test_installed_once_logged_once_undone(
    seen: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(torch.version, "hip", "7.0.0", raising=False)
    monkeypatch.setattr(guard, "_warned", set())
    before = torch.compile
    undo = guard.install()
    second = guard.install()
    second()
    assert torch.compile is not before
    with caplog.at_level(logging.WARNING, guard.__name__):
        run(mode="reduce-overhead")
        run(mode="reduce-overhead")
    assert [record.getMessage() for record in caplog.records] == [
        'torch.compile(mode="reduce-overhead") runs as "default" on ROCm'
    ]
    undo()
    assert torch.compile is before


def test_inductor_settings_change_what_differs_and_put_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch._inductor.config as config

    monkeypatch.setattr(torch.version, "hip", "7.0.0", raising=False)
    with config.patch({"max_autotune": True, "memory_planning": False, "triton.cudagraphs": False}):
        with guard.inductor_settings() as changed:
            assert changed == {"max_autotune": (True, False)}
            assert config.max_autotune is False
        assert config.max_autotune is True
        monkeypatch.setattr(torch.version, "hip", None, raising=False)
        with guard.inductor_settings() as changed:
            assert changed == {}
            assert config.max_autotune is True
