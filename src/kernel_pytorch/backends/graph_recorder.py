"""One graph: recorded once from a function's GPU work, and replayed from then on without Python or launches.

The few calls of torch that this takes are here, so that what stands around them (`graphs.py`) can be tested where
there is no GPU.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Recording:
    """A graph that was recorded. `replay` queues it on the current stream; `outputs` are then what it wrote."""

    replay: Callable[[], None]
    outputs: object


class Recorder(Protocol):
    """What `graphs.capture` needs of a device."""

    def record(
        self, function: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object], warm_up: int
    ) -> Recording: ...

    def turn(self) -> AbstractContextManager[None]: ...


class RecordingFailed(Exception):
    """The work of a function cannot be recorded; the message says why. The device works on."""


class GraphPool:
    """Memory that the graphs of one GPU share.

    What graphs need between their inputs and outputs overlaps, so only one of them may run at a time: `turn` lets
    threads wait for each other, and a stream for the stream that ran the last one. Outputs are never shared.
    `generators` are random generators beside torch's default one that recorded functions draw from.
    """

    def __init__(self, device: str | torch.device, generators: Sequence[torch.Generator] = ()) -> None:
        import torch

        self.device = torch.device(device)
        self.handle = torch.cuda.graph_pool_handle()
        self.generators = tuple(generators)
        self._lock = threading.RLock()
        self._last: torch.cuda.Stream | None = None
        # One for all: every stream that multiplies matrices keeps a workspace of its own (32 MB on Hopper).
        self._side = torch.cuda.Stream(self.device)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """While the block is open, no other graph of this pool runs before the work that is queued here."""
        import torch

        with self._lock:
            stream = torch.cuda.current_stream(self.device)
            if self._last is not None and self._last != stream:
                stream.wait_stream(self._last)
            try:
                yield
            finally:
                self._last = stream

    def record(
        self, function: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object], warm_up: int
    ) -> Recording:
        """Run `function` `warm_up` times on a side stream and once more while the stream records.

        The warm-up compiles, allocates workspaces and picks kernels, none of which may happen during recording:
        Dynamo would ask for the random state, which is refused there. Whatever would still compile is an error.
        Random numbers go on from replay to replay as they do from call to call. What `function` itself raises in
        the warm-up is passed on; RecordingFailed is for what only recording does not allow.
        """
        import torch

        with self._lock, torch.cuda.device(self.device):
            current, side = torch.cuda.current_stream(), self._side
            side.wait_stream(current)
            with torch.cuda.stream(side):
                for _ in range(warm_up):
                    function(*args, **kwargs)
            current.wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            for generator in self.generators:
                graph.register_generator_state(generator)
            recording = torch.cuda.graph(graph, pool=self.handle, stream=side, capture_error_mode="thread_local")
            try:
                with fail_on_recompile(), _own_workspace(), recording:
                    outputs = function(*args, **kwargs)
            except Exception as error:
                reason = first_cause(error)
            else:
                return Recording(graph.replay, outputs)
            self._recover(graph, side, current)
            raise RecordingFailed(reason)

    def _recover(self, graph: torch.cuda.CUDAGraph, side: torch.cuda.Stream, current: torch.cuda.Stream) -> None:
        """torch leaves a recording that breaks off half open: the stream, the allocator and the generators."""
        import torch

        torch.cuda.set_stream(current)
        _broken.append(graph)  # the allocator may go on asking it whether it still records
        end = getattr(torch._C, "_cuda_endAllocateToPool", None)
        if end is not None:
            with suppress(RuntimeError):  # it was ended in order
                end(self.device.index or 0, self.handle)
        self.handle = torch.cuda.graph_pool_handle()
        torch.cuda.synchronize()
        # A generator ends its part of the broken recording with the next one that succeeds. Until then every random
        # number is refused.
        empty = torch.cuda.CUDAGraph()
        for generator in self.generators:
            empty.register_generator_state(generator)
        with torch.cuda.graph(empty, stream=side, capture_error_mode="thread_local"):
            torch.zeros(1, device=self.device)


_broken: list[torch.cuda.CUDAGraph] = []


@contextmanager
def _own_workspace() -> Iterator[None]:
    """Inside, BLAS libraries take a new workspace, which during a recording comes from the graph's own memory.

    With the process's one a graph would go on writing there after somebody gives it back, which the graphs of
    mode="reduce-overhead" do each time they record."""
    import torch

    clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", lambda: None)
    clear()
    try:
        yield
    finally:
        clear()


@contextmanager
def fail_on_recompile() -> Iterator[None]:
    """Inside, a torch.compile that would compile raises instead; nothing on a torch that cannot be told so."""
    import torch

    set_stance = getattr(torch.compiler, "set_stance", None)
    with set_stance("fail_on_recompile") if set_stance is not None else nullcontext():
        yield


def first_cause(error: BaseException) -> str:
    """The exception that came first, in one line: ending a recording that broke off fails too, and hides why."""
    while error.__context__ is not None:
        error = error.__context__
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300] if lines else ''}"


_pools: dict[str, GraphPool] = {}
_pools_lock = threading.Lock()


def shared_pool(device: torch.device) -> GraphPool:
    """The pool that all graphs of a GPU use unless they are given another."""
    with _pools_lock:
        if str(device) not in _pools:
            _pools[str(device)] = GraphPool(device)
        return _pools[str(device)]
