"""torch.cuda.CUDAGraph's base class: operators and kernel launches recorded by the emulated runtime, and replayed."""

from __future__ import annotations

import itertools
from typing import Any

from kernel_pytorch.emulate.torch_device.native import Native


def graph_names(native: Native) -> dict[str, Any]:
    """The names that torch.cuda.graphs takes from torch._C."""
    numbers = itertools.count(1)

    class _CUDAGraph:
        """What is recorded stays in memory as long as this lives, so that a replay writes where the capture did."""

        def __new__(cls, keep_graph: bool = False) -> Any:
            made = super().__new__(cls)
            made._graph, made._pool = None, None
            return made

        _graph: int | None
        _pool: Any

        def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
            if capture_error_mode not in ("global", "thread_local", "relaxed"):
                raise RuntimeError(
                    f"Unknown capture error mode. Expected global, thread_local, or relaxed, got {capture_error_mode}"
                )
            if self._graph:
                raise RuntimeError(
                    "This CUDAGraph instance already owns a captured graph. "
                    "To capture a new graph, create a new instance."
                )
            self._pool = pool if pool is not None else (0, next(numbers))
            self._graph = native.graph_begin(native.current_device())
            if not self._graph:
                raise RuntimeError(native.problem().decode())

        def capture_end(self) -> None:
            native.check(native.graph_end(self._graph))

        # torch 2.14 calls the end of a capture in two steps.
        capture_end_pre = capture_end

        def capture_end_post(self) -> None:
            """Nothing is left of the capture that the graph does not need."""

        def instantiate(self) -> None:
            """Done at the end of the capture."""

        def replay(self) -> None:
            if not self._graph:
                raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
            native.check(native.graph_replay(self._graph, native.current_device()))

        def reset(self) -> None:
            if self._graph:
                native.graph_discard(self._graph)
            self._graph = None

        def pool(self) -> Any:
            if self._pool is None:
                raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
            return self._pool

        def pools(self) -> list[Any]:
            return [self.pool()]

        def _retain_pool(self, pool: Any) -> None:
            """What a graph wrote to stays as long as the graph."""

        def register_generator_state(self, generator: Any) -> None:
            """Every generator is: a replay draws from it as the operators did."""

        def enable_debug_mode(self) -> None:
            raise RuntimeError("a graph of an emulated GPU cannot be dumped")

        debug_dump = raw_cuda_graph = raw_cuda_graph_exec = enable_debug_mode

        def __del__(self) -> None:
            self.reset()

    return {
        "_CUDAGraph": _CUDAGraph,
        "_graph_pool_handle": lambda: (0, next(numbers)),
        "_cuda_isCurrentStreamCapturing": lambda: bool(native.capturing()),
    }
