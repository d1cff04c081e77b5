"""Graph capture around a stand-in for the device: what is recorded, when it is replayed, and when it is not trusted.

The stand-in runs the function again where a GPU would replay; tests/hw/test_graphs_nvidia.py has the real thing.
"""

from __future__ import annotations

import gc
import logging
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.backends.graph_recorder import Recording, RecordingFailed, fail_on_recompile, first_cause
from kernel_pytorch.backends.graphs import Buckets, GraphCaptureError, capture
from kernel_pytorch.models.comparison import tensors_in


class Tape:
    """Records by remembering the function. `fault` is what goes wrong in a replay."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.recorded = self.replayed = 0
        self.is_replaying = False

    def record(self, function: Callable[..., Any], args: Any, kwargs: Any, warm_up: int) -> Recording:
        for _ in range(warm_up):
            function(*args, **kwargs)
        if self.fault == "refuses":
            raise RecordingFailed("RuntimeError: operation not permitted when stream is capturing")
        outputs = function(*args, **kwargs)
        self.recorded += 1

        def replay() -> None:
            self.replayed += 1
            if self.fault == "stale":
                return
            self.is_replaying = True
            again = function(*args, **kwargs)
            self.is_replaying = False
            for old, new in zip(tensors_in(outputs), tensors_in(again), strict=True):
                old.copy_(new + 1 if self.fault == "wrong" else new)

        return Recording(replay, outputs)

    @contextmanager
    def turn(self) -> Iterator[None]:
        yield


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Linear(8, 3)).eval()


def test_on_the_cpu_the_function_runs_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    net, x = model(), torch.randn(2, 4)
    with caplog.at_level(logging.WARNING):
        fast = capture(net, x)
        assert torch.equal(fast(x), net(x))
    assert (fast.replays, fast.plain_calls, fast.graphs) == (0, 2, 0) and fast.reasons == {"graphs need a GPU": 2}
    assert "Sequential runs without a graph: graphs need a GPU" in caplog.text
    with pytest.raises(GraphCaptureError, match="Sequential cannot be replayed: graphs need a GPU"):
        capture(net, x, strict=True)


def test_one_graph_per_kind_of_call() -> None:
    net, tape = model(), Tape()
    fast = capture(net, torch.randn(2, 4), pool=tape)
    assert tape.recorded == 1 and fast.graphs == 1
    for rows in (2, 2, 5):
        x = torch.randn(rows, 4)
        assert torch.equal(fast(x), net(x))
    assert tape.recorded == fast.graphs == 2 and fast.replays == 4 and fast.plain_calls == 0
    with torch.autocast("cpu", torch.bfloat16):
        fast(torch.randn(2, 4))
    assert tape.recorded == 3, "autocast makes it another function"


def test_structures_constants_and_keywords() -> None:
    def function(pair: Any, *, scale: float, table: dict[str, Any], nothing: None = None) -> dict[str, Any]:
        first, second = pair
        return {"sum": (first + second) * scale, "parts": [first * 2, table["x"] - 1], "name": "kept"}

    tape = Tape()
    fast = capture(function, pool=tape)
    a, b, c = torch.randn(3, 2), torch.randn(3, 2), torch.randn(4)
    for scale in (2.0, 2.0, 3.0):
        found, expected = (f((a, b), scale=scale, table={"x": c}) for f in (fast, function))
        assert found.pop("name") == expected.pop("name")
        torch.testing.assert_close(found, expected)
    assert tape.recorded == 2, "a constant is part of the graph"
    assert torch.equal(fast((b, a), scale=2.0, table={"x": c})["parts"][0], b * 2)


@dataclass(frozen=True)
class Answer:
    value: torch.Tensor
    parts: tuple[torch.Tensor, ...]
    name: str = "answer"


def test_dataclasses_come_back_as_copies() -> None:
    def function(x: torch.Tensor) -> Answer:
        return Answer(x * 2, (x + 1, x + 2))

    fast = capture(function, pool=Tape())
    a, b = torch.randn(3), torch.randn(3)
    first = fast(a)
    second = fast(b)
    assert fast.replays == 2 and first is not second and first.name == "answer"
    assert torch.equal(first.value, a * 2) and torch.equal(second.parts[1], b + 2)


def test_results_that_may_hide_tensors_are_refused() -> None:
    class Opaque:
        def __init__(self, x: torch.Tensor) -> None:
            self.x = x

    fast = capture(lambda x: [Opaque(x * 2)], pool=Tape())
    x = torch.randn(3)
    assert torch.equal(fast(x)[0].x, x * 2) and "returns an object of type Opaque" in next(iter(fast.reasons))


def test_no_room_for_a_graph_is_no_failure() -> None:
    tape = Tape()

    def full(*_: Any) -> Recording:
        raise torch.OutOfMemoryError("CUDA out of memory")

    tape.record = full  # type: ignore[method-assign]
    fast = capture(torch.sin, pool=tape)
    x = torch.randn(3)
    assert torch.equal(fast(x), x.sin()) and "not enough memory" in next(iter(fast.reasons))


def test_a_generator_of_ones_own_is_not_disturbed() -> None:
    generator = torch.Generator().manual_seed(3)
    tape = Tape()
    tape.generators = (generator,)  # type: ignore[attr-defined]

    def noisy(x: torch.Tensor) -> torch.Tensor:
        return x + torch.rand(x.shape, generator=generator)

    x = torch.zeros(5)
    expected = [noisy(x) for _ in range(2)]
    generator.manual_seed(3)
    fast = capture(noisy, pool=tape)
    assert all(torch.equal(fast(x), item) for item in expected) and fast.replays == 2


def test_too_many_kinds_run_as_they_are() -> None:
    fast = capture(lambda x, n: x * n, pool=Tape(), most_graphs=2)
    x = torch.randn(3)
    for n in range(1, 5):
        assert torch.equal(fast(x, n), x * n)
    assert fast.graphs == 2 and fast.plain_calls == 2 and "2 graphs already" in next(iter(fast.reasons))


def test_an_argument_no_graph_can_stand_for() -> None:
    fast = capture(lambda x, y: x, pool=Tape())
    x = torch.randn(2)
    assert torch.equal(fast(x, object()), x) and "argument of type object" in next(iter(fast.reasons))


@pytest.mark.parametrize("fault", ["wrong", "stale"])
def test_a_replay_that_gives_something_else_is_never_used(fault: str, caplog: pytest.LogCaptureFixture) -> None:
    net, x = model(), torch.randn(2, 4)
    fast = capture(net, x, pool=Tape(fault))
    for _ in range(2):
        assert torch.equal(fast(x), net(x))
    assert fast.graphs == fast.replays == 0 and "the replayed graph is wrong: output 0" in next(iter(fast.reasons))
    with pytest.raises(GraphCaptureError, match="the replayed graph is wrong"):
        capture(net, x, pool=Tape(fault), strict=True)


def test_constant_and_integer_inputs_are_varied_too() -> None:
    def of_ones(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    assert capture(of_ones, torch.ones(5), pool=Tape("stale")).graphs == 0
    embedding = nn.Embedding(100, 4).eval()
    assert capture(embedding, torch.arange(12).view(3, 4), pool=Tape("stale")).graphs == 0
    assert capture(embedding, torch.arange(12).view(3, 4), pool=Tape()).graphs == 1


def test_inputs_of_the_callers_own_making() -> None:
    offsets = torch.tensor([0, 2, 5])
    seen: list[torch.Tensor] = []

    def lengths(x: torch.Tensor) -> torch.Tensor:
        seen.append(x.clone())
        return x[1:] - x[:-1]

    capture(lengths, offsets, pool=Tape())
    assert all(torch.equal(item, offsets) for item in seen), "one axis of whole numbers keeps its order"
    assert capture(lengths, offsets, pool=Tape("stale"), fresh=lambda tensors: (tensors[0] * 3,)).graphs == 0
    with pytest.raises(ValueError, match="same shapes"):
        capture(lengths, offsets, pool=Tape(), fresh=lambda tensors: (tensors[0][:2],))


def test_what_cannot_be_recorded_runs_as_it_is() -> None:
    x = torch.randn(2, 4)
    fast = capture(torch.sin, x, pool=Tape("refuses"))
    assert torch.equal(fast(x), x.sin()) and "not permitted" in next(iter(fast.reasons))


def test_an_error_of_the_function_is_the_callers() -> None:
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        capture(model(), torch.randn(2, 5), pool=Tape())


def test_gradients_are_never_lost() -> None:
    net = model()
    fast = capture(net, torch.randn(2, 4), pool=Tape())
    with torch.enable_grad():
        y = fast(torch.randn(2, 4))
    assert y.requires_grad and "torch.no_grad()" in next(iter(fast.reasons))


def test_weights_changed_in_place_replaced_or_moved_are_recorded_anew() -> None:
    net, tape = model(), Tape()
    x = torch.randn(2, 4)
    fast = capture(net, x, pool=tape)
    for round_, change in enumerate(
        (
            lambda: net[0].weight.mul_(2),
            lambda: setattr(net[0], "weight", nn.Parameter(torch.randn(8, 4))),
            lambda: net[0].weight.__setattr__("data", torch.randn(8, 4)),
            lambda: net.load_state_dict(model().state_dict()),
        )
    ):
        for _ in range(12):
            fast(x)
        change()
        assert torch.equal(fast(x), net(x))
        assert tape.recorded == round_ + 2


def test_weights_that_change_all_the_time_end_the_recording() -> None:
    net, tape = model(), Tape()
    fast = capture(net, pool=tape)
    x = torch.randn(2, 4)
    for _ in range(8):
        net[0].weight.mul_(1.1)
        assert torch.equal(fast(x), net(x))
    assert tape.recorded == 3 and list(fast.reasons) == ["the weights change between calls too often for graphs to pay"]
    fast.reset()
    fast(x)
    assert tape.recorded == 4


def test_modes_and_hooks() -> None:
    net, tape = model(), Tape()
    x = torch.randn(2, 4)
    fast = capture(net, x, pool=tape)
    net[1].train()
    fast(x)
    net[1].eval()
    calls: list[int] = []
    # The stand-in replays by calling, where a graph would not call hooks.
    handle = net[0].register_forward_hook(lambda *_: None if tape.is_replaying else calls.append(1))
    fast(x)
    assert calls == [1], "the hook was called"
    handle.remove()
    net[1].running_mean.zero_().add_(1)  # training changed it: recorded anew
    assert torch.equal(fast(x), net(x))
    assert list(fast.reasons) == [
        "a module is in another mode (train or eval)",
        "a module has hooks, which a graph would not call",
    ]
    hooked = model()
    hooked[0].register_forward_hook(lambda *_: None)
    assert capture(hooked, x, pool=Tape()).graphs == 0


class Remembering(nn.Module):
    last: Any = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.last = x * 2
        return self.last + 1


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.calls


class Tabled(nn.Module):
    table: Any = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.table is None:
            self.table = torch.arange(4.0)
        return x + self.table


def test_a_forward_that_changes_its_module_is_refused() -> None:
    net = Remembering()
    fast = capture(net, torch.ones(3), pool=Tape())
    assert fast.graphs == 0 and "changes its attribute 'last'" in next(iter(fast.reasons))


def test_buffers_written_in_place_go_on_and_the_check_leaves_them_alone() -> None:
    net = Counting().eval()
    fast = capture(net, pool=Tape())
    assert [fast(torch.ones(1)).item() for _ in range(3)] == [1.0, 2.0, 3.0] and fast.replays >= 1


def test_a_replay_goes_ahead_of_the_guard_only_where_it_can_be_dropped() -> None:
    """A second run must do what one does: it is what follows a replay that should not have been."""
    x = torch.randn(2, 4)
    plain, counting, random = model(), Counting().eval(), nn.Dropout(0.5)
    replays = {}
    for net in (plain, counting, random):
        tape = Tape()
        fast = capture(net, x, pool=tape)
        before = tape.replayed
        handle = net.register_forward_pre_hook(lambda *_: None)
        fast(x)
        handle.remove()
        replays[net] = tape.replayed - before
        assert fast.plain_calls == 1
    assert replays == {plain: 1, counting: 0, random: 0}
    assert counting.calls == 2.0, "neither skipped nor counted twice"


def test_weights_that_moved_are_not_read() -> None:
    net, tape, x = model(), Tape(), torch.randn(2, 4)
    fast = capture(net, x, pool=tape)
    fast(x)
    before = tape.replayed
    net[0].weight.data = torch.randn(8, 4)
    tape.fault = "refuses"
    assert torch.equal(fast(x), net(x)) and tape.replayed == before


def test_a_hook_for_all_modules_is_called() -> None:
    net, tape, x = model(), Tape(), torch.randn(2, 4)
    fast = capture(net, x, pool=tape)
    handle = nn.modules.module.register_module_forward_hook(lambda *_: None)
    try:
        fast(x)
    finally:
        handle.remove()
    assert list(fast.reasons) == ["a module has hooks, which a graph would not call"]


def test_what_a_forward_made_once_lives_as_long_as_its_graph() -> None:
    net = Tabled()
    fast = capture(net, pool=Tape())
    x = torch.randn(4)
    assert torch.equal(fast(x), x + torch.arange(4.0))
    net.table = None
    held = [item.get("table") for graph in fast._graphs.values() for item in graph.guard._kept]
    alive = [weakref.ref(item) for item in held if item is not None]
    del held
    gc.collect()
    assert alive and all(item() is not None for item in alive), "the graph reads it"


def test_arguments_that_are_written_into_are_refused() -> None:
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x.mul_(2)

    x = torch.ones(3)
    fast = capture(doubled, pool=Tape())
    fast(x)
    assert torch.equal(x, torch.full((3,), 2.0)) and "writes into its arguments" in next(iter(fast.reasons))


def test_results_are_the_callers_unless_shared_ones_will_do() -> None:
    net = model()
    fast = capture(net, pool=Tape())
    a, b = torch.randn(2, 4), torch.randn(2, 4)
    first = fast(a)
    fast(b)
    assert torch.equal(first, net(a))
    shared = capture(net, pool=Tape(), copy_outputs=False)
    first = shared(a)
    shared(b)
    assert torch.equal(first, net(b))


def test_random_numbers_go_on_and_recording_takes_none() -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(x, 0.5, training=True)

    x = torch.ones(64)
    torch.manual_seed(7)
    expected = [noisy(x) for _ in range(3)]
    torch.manual_seed(7)
    fast = capture(noisy, pool=Tape())
    found = [fast(x) for _ in range(3)]
    assert fast.replays == 3 and all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))


def test_buckets_serve_every_size_up_to_the_largest() -> None:
    net, tape = model(), Tape()
    fast = capture(net, torch.randn(4, 4), pool=tape, buckets=Buckets((8, 4)))
    for rows in (1, 3, 4, 5, 8):
        x = torch.randn(rows, 4)
        result = fast(x)
        assert result.shape == (rows, 3)
        torch.testing.assert_close(result, net(x))
    assert tape.recorded == 2 and fast.plain_calls == 0
    assert fast(torch.randn(9, 4)).shape == (9, 3) and "largest bucket, 8" in next(iter(fast.reasons))


@pytest.mark.parametrize("rows", [3, 4])
def test_rows_that_look_at_each_other_are_not_bucketed(rows: int) -> None:
    fast = capture(lambda x: x - x.mean(0), torch.randn(rows, 4), pool=Tape(), buckets=Buckets((4,)))
    assert fast.graphs == 0 and "the replayed graph is wrong" in next(iter(fast.reasons))


def test_only_arguments_of_that_size_are_padded() -> None:
    tape = Tape()
    fast = capture(lambda x, w: x @ w, pool=tape, buckets=Buckets((4,), axis=0))
    w = torch.randn(5, 5)
    for rows in (2, 3):
        x = torch.randn(rows, 5)
        torch.testing.assert_close(fast(x, w), x @ w)
    assert tape.recorded == 1


@pytest.mark.parametrize("wrong", [{"sizes": ()}, {"sizes": (0, 4)}, {"sizes": (4,), "axis": -1}])
def test_buckets_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="positive sizes"):
        Buckets(**wrong)


def test_inference_mode() -> None:
    net = model()
    fast = capture(net, pool=Tape())
    with torch.inference_mode():
        x = torch.randn(2, 4)
        result = fast(x)
    assert torch.equal(result, net(x)) and fast.replays == 1 and not result.is_inference()


def test_reset_records_anew() -> None:
    held = {"weight": torch.ones(3)}
    tape = Tape()
    fast = capture(lambda x: x * held["weight"], torch.randn(3), pool=tape)
    fast.reset()
    assert fast.graphs == 0
    fast(torch.randn(3))
    assert tape.recorded == 2


def test_compiling_during_a_recording_is_an_error() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: x.sin() + 1, backend="eager", dynamic=False)
    compiled(torch.ones(3))
    with fail_on_recompile():
        compiled(torch.ones(3))
        with pytest.raises(RuntimeError, match="fail_on_recompile"):
            compiled(torch.ones(4))
    compiled(torch.ones(4))


def test_a_compiled_model_is_guarded_by_its_own_weights() -> None:
    torch._dynamo.reset()
    net, tape = model(), Tape()
    compiled = torch.compile(net, backend="eager")
    x = torch.randn(2, 4)
    fast = capture(compiled, x, pool=tape)
    net[0].weight.mul_(2)
    torch.testing.assert_close(fast(x), net(x))
    assert tape.recorded == 2


def test_the_first_cause_is_told() -> None:
    try:
        try:
            raise ValueError("the reason\nsecond line")
        finally:
            raise RuntimeError("capture_end failed")
    except RuntimeError as error:
        assert first_cause(error) == "ValueError: the reason"


def test_a_recording_takes_a_workspace_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inductor's graphs give the process's workspace back when they record; a replay must not write to it."""
    from kernel_pytorch.backends import graph_recorder

    said: list[str] = []
    monkeypatch.setattr(torch._C, "_cuda_clearCublasWorkspaces", lambda: said.append("cleared"), raising=False)
    with graph_recorder._own_workspace():
        said.append("recorded")
    assert said == ["cleared", "recorded", "cleared"]
