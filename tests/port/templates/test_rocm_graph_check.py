"""The replay check passes a graph that follows its inputs, and catches one that does not."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernel_pytorch.port.templates.rocm_graph_check import check_replay  # noqa: E402


class Replay:
    """What a graph does, on the CPU: runs again and writes into the tensors of its capture."""

    def __init__(self, call: Any, output: Any) -> None:
        self.call, self.output = call, output

    def replay(self) -> None:
        self.output.copy_(self.call())


def test_a_faithful_graph_passes_and_the_inputs_are_put_back() -> None:
    x = torch.randn(4, 8)
    before = x.clone()
    out = (x * 2).clone()
    check_replay(Replay(lambda: x * 2, out), lambda: x * 2, out, [x])
    assert torch.equal(x, before)


def test_stale_numbers_are_caught() -> None:
    x = torch.randn(4, 8)
    stale = x.clone()
    out = (x * 2).clone()
    before = x.clone()
    with pytest.raises(AssertionError):
        check_replay(Replay(lambda: stale * 2, out), lambda: x * 2, out, [x])
    assert torch.equal(x, before)


def test_nothing_to_change_is_said(caplog: pytest.LogCaptureFixture) -> None:
    x = torch.arange(4)
    check_replay(Replay(lambda: x, x), lambda: x, x, [x])
    assert "would not be noticed" in caplog.text
    with pytest.raises(AssertionError):
        check_replay(Replay(lambda: x + 1, x.clone()), lambda: x, x.clone() + 2, [x])


def test_inputs_are_found_among_other_things_and_weights_may_want_gradients() -> None:
    x = torch.randn(4, requires_grad=True)
    before = x.detach().clone()
    out = (x * 2).detach().clone()
    check_replay(Replay(lambda: (x * 2).detach(), out), lambda: x * 2, out, {"x": [x, 3], "mode": "fast"})
    assert torch.equal(x.detach(), before)


def test_nested_outputs() -> None:
    x = torch.randn(6)
    out = (x + 1).clone()
    check_replay(Replay(lambda: x + 1, out), lambda: {"a": x + 1, "n": 3}, {"a": out, "n": 3}, [x])
