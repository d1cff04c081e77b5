"""Graph capture: the GPU work of a function recorded once per shape, and replayed without Python and launches.

    fast = capture(model, (example,))
    with torch.no_grad():
        y = fast(x)

A replay is compared with the function itself on other inputs before it is trusted: on HIP a graph can give wrong
results without an error. What cannot be recorded, or differs, runs as it always did, and says so once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kernel_pytorch.backends.graph_guard import ModuleGuard, all_undisturbed, refuse_state
from kernel_pytorch.backends.graph_inputs import (
    Buckets,
    Call,
    NotReplayable,
    fill,
    fresh_values,
    rebuilt,
    refuse_unknown,
    split_call,
    static_copies,
)
from kernel_pytorch.backends.graph_recorder import GraphPool, Recorder, Recording, RecordingFailed, shared_pool
from kernel_pytorch.backends.graph_surroundings import (
    autocast_state,
    device_of,
    modules_of,
    one_gpu,
    random_state_kept,
    submodules,
)
from kernel_pytorch.backends.notices import say_once
from kernel_pytorch.core.errors import AMDOptimizationError
from kernel_pytorch.models.comparison import Difference, distance, tensors_in, worse
from kernel_pytorch.models.fx.forwards import arguments_of
from kernel_pytorch.models.memory import is_out_of_memory, release_unused
from kernel_pytorch.models.precision import FP64_TOLERANCE, TOLERANCES, precision_name

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["Buckets", "CapturedFunction", "GraphCaptureError", "GraphPool", "capture"]

CHECK_ROUNDS = 2
MOST_GRAPHS = 16
# A graph that serves fewer calls than this before its weights change costs more than it saves ...
_WORTH_RECORDING = 10
# ... and when that happened this often, recording stops.
_SHORT_LIVES = 3


class GraphCaptureError(AMDOptimizationError):
    """A function cannot be captured, and `strict=True` asks for an error."""


@dataclass(frozen=True)
class _Graph:
    recording: Recording
    inputs: list[Tensor]
    guard: ModuleGuard
    pool: Recorder
    can_repeat: bool = False  # twice in a row does what once does


class CapturedFunction:
    """Calls `function`, by a graph where one serves. Made by `capture`.

    `replays` and `plain_calls` count; `reasons` says why calls ran without a graph.
    """

    def __init__(
        self,
        function: Callable[..., object],
        *,
        buckets: Buckets | None,
        pool: Recorder | None,
        warm_up: int,
        fresh: Callable[[tuple[Tensor, ...]], tuple[Tensor, ...]] | None,
        copy_outputs: bool,
        strict: bool,
        most_graphs: int,
        modules: Sequence[nn.Module] | None,
    ) -> None:
        self.function = function
        self.replays = self.plain_calls = 0
        self.reasons: dict[str, int] = {}
        self._buckets, self._pool, self._warm_up, self._fresh = buckets, pool, warm_up, fresh
        self._copy_outputs, self._strict, self._most_graphs = copy_outputs, strict, most_graphs
        self._axis = buckets.axis if buckets is not None else 0
        self._modules = tuple(modules) if modules is not None else modules_of(function)
        self._graphs: dict[Hashable, _Graph] = {}
        self._refused: dict[Hashable, str] = {}
        self._lives: list[int] = []
        self._gave_up = ""
        self._replays_before = 0
        self._lock = threading.Lock()

    @property
    def graphs(self) -> int:
        """How many kinds of calls are replayed."""
        return len(self._graphs)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        import torch

        if torch.compiler.is_compiling():
            return self.function(*args, **kwargs)
        if torch.is_grad_enabled():
            return self._plainly(args, kwargs, "gradients are on: a graph is for inference, under torch.no_grad()")
        if torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
            return self._plainly(args, kwargs, "another graph is being recorded")
        try:
            call = split_call(args, kwargs, self._buckets)
            key = (call.kind, autocast_state(call.tensors))
            known = self._graphs.get(key)
            if known is not None and known.can_repeat and known.guard.memory_is_there():
                # To look at every weight takes longer than many a graph: the GPU works meanwhile. A replay that should
                # not have been is dropped, and what it wrote is written again below.
                outputs = self._replay(known, call)
                if not known.guard.why_not_now() and not known.guard.why_stale():
                    self.replays += 1
                    return outputs
            graph = self._graph_for(key, call)
        except NotReplayable as reason:
            return self._plainly(args, kwargs, str(reason))
        self.replays += 1
        return self._replay(graph, call)

    def reset(self) -> None:
        """Forget every graph; the next calls record again."""
        self._graphs.clear()
        self._refused.clear()
        self._lives.clear()
        self._gave_up = ""

    def _plainly(self, args: tuple[object, ...], kwargs: dict[str, object], reason: str) -> Any:
        if self._strict:
            raise GraphCaptureError(f"{_name(self.function)} cannot be replayed: {reason}")
        self.plain_calls += 1
        self.reasons[reason] = self.reasons.get(reason, 0) + 1
        if self.reasons[reason] == 1:
            say_once(f"{_name(self.function)} runs without a graph: {reason}")
        return self.function(*args, **kwargs)

    def _graph_for(self, key: Hashable, call: Call) -> _Graph:
        if self._gave_up:
            raise NotReplayable(self._gave_up)
        graph = self._graphs.get(key)
        if graph is None:
            with self._lock:
                return self._graphs.get(key) or self._new_graph(key, call)
        reason = graph.guard.why_not_now()
        if reason:
            raise NotReplayable(reason)
        if not graph.guard.why_stale():
            return graph
        with self._lock:
            if self._graphs.get(key) is graph:
                self._weights_changed()
            return self._graphs.get(key) or self._new_graph(key, call)

    def _new_graph(self, key: Hashable, call: Call) -> _Graph:
        if key in self._refused:
            raise NotReplayable(self._refused[key])
        if len(self._graphs) >= self._most_graphs:
            raise NotReplayable(f"there are {self._most_graphs} graphs already, one for each kind of call")
        try:
            graph = self._record(call)
        except (NotReplayable, RecordingFailed) as reason:
            self._refused[key] = str(reason)
            raise NotReplayable(str(reason)) from None
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            self._refused[key] = "there is not enough memory for the function and its graph at once"
        if key in self._refused:
            release_unused(device_of(list(call.tensors), self._modules))
            raise NotReplayable(self._refused[key])
        self._graphs[key] = graph
        return graph

    def _weights_changed(self) -> None:
        self._graphs.clear()
        self._lives.append(self.replays - self._replays_before)
        self._replays_before = self.replays
        recent = self._lives[-_SHORT_LIVES:]
        if len(recent) == _SHORT_LIVES and max(recent) < _WORTH_RECORDING:
            self._gave_up = "the weights change between calls too often for graphs to pay"
            raise NotReplayable(self._gave_up)

    def _record(self, call: Call) -> _Graph:
        import torch

        pool = self._pool if self._pool is not None else shared_pool(one_gpu(call.tensors, self._modules))
        with (
            torch.inference_mode(False),
            torch.no_grad(),
            random_state_kept(call.tensors, self._modules, pool),
        ):
            with all_undisturbed(self._modules):
                inputs = static_copies(call, self._axis)
                arguments, keywords = _arguments(call.kind, inputs)
                if any(module._forward_hooks or module._forward_pre_hooks for module in submodules(self._modules)):
                    raise NotReplayable("a module has hooks, which a graph would not call")
                refuse_state(self._modules, lambda: self.function(*arguments, **keywords))
                versions = [item._version for item in inputs]
                recording = pool.record(self.function, arguments, keywords, self._warm_up)
                refuse_unknown(recording.outputs)
                if [item._version for item in inputs] != versions:
                    raise NotReplayable("it writes into its arguments")
                graph = _Graph(recording, inputs, ModuleGuard(self._modules), pool)
            self._check(graph, call)
            can_repeat = self._can_repeat(graph, call)
            # The check's own runs put buffers back in place, which counts as a change.
            return replace(graph, guard=graph.guard.renewed(), can_repeat=can_repeat)

    def _check(self, graph: _Graph, call: Call) -> None:
        """Raise NotReplayable unless replays give what the function gives, on inputs the graph has not seen."""
        calls = [self._fresh_call(call, seed) for seed in range(CHECK_ROUNDS)]
        if call.bucket is not None and call.rows == call.bucket and call.bucket > 1:
            calls.append(self._with_fewer_rows(calls[-1], call.bucket // 2))
        for seed, other in enumerate(calls):
            expected = self._outcome(lambda other=other: self._call_plainly(other), seed, graph.pool)  # type: ignore[misc]
            found = self._outcome(lambda other=other: self._replay(graph, other, copy=True), seed, graph.pool)  # type: ignore[misc]
            difference = _difference(expected, found)
            if not difference.is_acceptable:
                raise NotReplayable(
                    f"the replayed graph is wrong: {difference.where} differs by {difference.error:.3g}, allowed is "
                    f"{difference.limit:.3g}"
                )

    def _can_repeat(self, graph: _Graph, call: Call) -> bool:
        """Whether a second replay gives and leaves what the first did: no counters, no random numbers."""
        with all_undisturbed(self._modules):
            once, twice = ([*_copies(self._replay(graph, call)), *self._buffers()] for _ in range(2))
        return _difference(once, twice).is_acceptable

    def _fresh_call(self, call: Call, seed: int) -> Call:
        if self._fresh is not None:
            tensors = tuple(self._fresh(call.tensors))
            if [item.shape for item in tensors] != [item.shape for item in call.tensors]:
                raise ValueError("fresh(tensors) must give tensors of the same shapes")
            return replace(call, tensors=tensors)
        return replace(call, tensors=tuple(fresh_values(item, 1000 * seed + i) for i, item in enumerate(call.tensors)))

    def _with_fewer_rows(self, call: Call, rows: int) -> Call:
        cut = [
            item.narrow(self._axis, 0, rows) if pads else item
            for item, pads in zip(call.tensors, call.padded, strict=True)
        ]
        return replace(call, tensors=tuple(cut), rows=rows)

    def _call_plainly(self, call: Call) -> Any:
        arguments, keywords = _arguments(call.kind, [item.clone() for item in call.tensors])
        return self.function(*arguments, **keywords)

    def _outcome(self, run: Callable[[], object], seed: int, pool: Recorder) -> list[Tensor]:
        """What a run gives and leaves in the modules' buffers, always from the same random state."""
        import torch

        with all_undisturbed(self._modules):
            torch.manual_seed(seed)
            for generator in getattr(pool, "generators", ()):
                generator.manual_seed(seed)
            return [*_copies(run()), *self._buffers()]

    def _buffers(self) -> list[Tensor]:
        return [item.detach().clone() for module in self._modules for item in module.buffers()]

    def _replay(self, graph: _Graph, call: Call, *, copy: bool = False) -> Any:
        import torch

        if torch.is_inference_mode_enabled():  # the graph's own tensors are ordinary ones, and are written to
            with torch.inference_mode(False), torch.no_grad():
                return self._replay(graph, call, copy=copy)
        with graph.pool.turn():
            fill(graph.inputs, call, self._axis)
            graph.recording.replay()
            outputs = graph.recording.outputs
            if isinstance(outputs, torch.Tensor):
                return self._given(outputs, call, copy)
            return rebuilt(outputs, lambda item: self._given(item, call, copy))

    def _given(self, output: Tensor, call: Call, copy: bool) -> Tensor:
        cut = call.bucket is not None and call.rows != call.bucket
        if cut and output.dim() > self._axis and output.shape[self._axis] == call.bucket:
            output = output.narrow(self._axis, 0, call.rows)
        return output.clone() if copy or self._copy_outputs else output


def capture(
    function: Callable[..., object],
    inputs: object = None,
    *,
    buckets: Buckets | None = None,
    pool: Recorder | None = None,
    warm_up: int = 3,
    fresh: Callable[[tuple[Tensor, ...]], tuple[Tensor, ...]] | None = None,
    copy_outputs: bool = True,
    strict: bool = False,
    most_graphs: int = MOST_GRAPHS,
    modules: Sequence[nn.Module] | None = None,
) -> CapturedFunction:
    """`function` (a model, or anything that takes tensors) with its GPU work replayed as a graph, for inference.

    `inputs` (a tensor, a tuple of arguments or a dict of keywords) are recorded at once; other shapes when they
    come, up to `most_graphs`, or in the sizes of `buckets`. `pool` is memory to share, and names random generators
    beside torch's own. `fresh` makes other inputs of the same shapes for the check, where shuffled ones would not
    do. Without `copy_outputs` results are overwritten by the next call. `strict` raises GraphCaptureError where a
    call cannot be replayed, instead of running it without a graph.

    The function must do the same work on every call: what it decides in Python is decided once. The weights of
    `modules` (by default those `function` is or belongs to) are watched; tensors that a plain function holds
    otherwise are not: `reset()` after replacing one.
    """
    import torch

    captured = CapturedFunction(
        function,
        buckets=buckets,
        pool=pool,
        warm_up=warm_up,
        fresh=fresh,
        copy_outputs=copy_outputs,
        strict=strict,
        most_graphs=most_graphs,
        modules=modules,
    )
    if inputs is not None:
        args = tuple(inputs) if isinstance(inputs, (tuple, list)) else () if isinstance(inputs, Mapping) else (inputs,)
        kwargs = dict(inputs) if isinstance(inputs, Mapping) else {}
        with torch.no_grad():
            captured(*args, **kwargs)
    return captured


def _copies(outputs: object) -> list[Tensor]:
    return [item.detach().clone() for item in tensors_in(outputs)]


def _arguments(kind: Any, tensors: list[Tensor]) -> tuple[tuple[object, ...], dict[str, object]]:
    left = list(tensors)
    positional, named = kind[0]
    return arguments_of(positional, left), arguments_of(named, left)


def _difference(expected: list[Tensor], found: list[Tensor]) -> Difference:
    import torch

    if len(expected) != len(found):
        return Difference(float("inf"), 0.0, "the number of outputs")
    worst = Difference(0.0, 0.0, "outputs")
    for place, (old, new) in enumerate(zip(expected, found, strict=True)):
        exact = FP64_TOLERANCE if old.dtype == torch.float64 else (0.0, 0.0)
        relative, absolute = TOLERANCES.get(precision_name(old.dtype) or "", exact)
        worst = worse(worst, distance(old, new, relative, absolute, f"output {place}"))
    return worst


def _name(function: object) -> str:
    owner = getattr(function, "__self__", function)
    return str(getattr(owner, "__name__", type(owner).__name__))
