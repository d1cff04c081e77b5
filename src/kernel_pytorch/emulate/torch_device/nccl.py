"""torch.distributed's backend "nccl" between processes with an emulated GPU each.

Gloo moves the data, in the GPUs' own memory: an emulated GPU's memory is memory of its process. A call returns when
it is done, so that nothing overlaps with it.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Sequence
from typing import Any

# RCCL's name -> Gloo's, where they differ or where versions of torch differ.
_NAMES = {
    "broadcast": "broadcast",
    "allreduce": "allreduce",
    "allreduce_coalesced": "allreduce_coalesced",
    "reduce": "reduce",
    "allgather": "allgather",
    "allgather_coalesced": "allgather_coalesced",
    "_allgather_base": "_allgather_base",
    "all_gather_single": "_allgather_base",
    "gather": "gather",
    "scatter": "scatter",
    "reduce_scatter": "reduce_scatter",
    "_reduce_scatter_base": "_reduce_scatter_base",
    "reduce_scatter_single": "_reduce_scatter_base",
    "alltoall_base": "alltoall_base",
    "all_to_all_single": "alltoall_base",
    "alltoall": "alltoall",
    "send": "send",
    "recv": "recv",
    "recv_anysource": "recv_anysource",
    "barrier": "barrier",
}
# Several calls of the one on the right.
_COALESCED = {
    "allgather_into_tensor_coalesced": "_allgather_base",
    "all_gather_single_coalesced": "_allgather_base",
    "reduce_scatter_tensor_coalesced": "_reduce_scatter_base",
    "reduce_scatter_single_coalesced": "_reduce_scatter_base",
}

_TIMEOUT = datetime.timedelta(minutes=10)  # torch's for NCCL


def install_nccl() -> Callable[[], None]:
    """Let torch.distributed find the backend. What is returned takes it back."""
    torch_c: Any = sys.modules["torch._C"]
    imported: Any = sys.modules.get("torch.distributed.distributed_c10d")
    if imported is not None:
        names = ("_NCCL_AVAILABLE", "ProcessGroupNCCL", "default_pg_nccl_timeout")
        before = {name: getattr(imported, name, None) for name in names}
        for name, value in zip(names, (True, process_group_class(), _TIMEOUT), strict=True):
            setattr(imported, name, value)

        def take_back() -> None:
            for name, value in before.items():
                setattr(imported, name, value)

        return take_back
    real = getattr(torch_c, "_c10d_init", None)
    if real is None:
        return lambda: None

    def init() -> Any:
        done = real()
        # distributed_c10d takes the names from there when it is imported, which comes next.
        torch_c._distributed_c10d.ProcessGroupNCCL = process_group_class()
        torch_c._distributed_c10d._DEFAULT_PG_NCCL_TIMEOUT = _TIMEOUT
        return done

    torch_c._c10d_init = init

    def put_back() -> None:
        torch_c._c10d_init = real

    return put_back


def process_group_class() -> type:
    """ProcessGroupNCCL."""
    from torch._C._distributed_c10d import ProcessGroup, ProcessGroupGloo

    class ProcessGroupNCCL(ProcessGroup):
        class Options:
            """What torch sets before it makes a group. Gloo has none of it."""

            _timeout: Any = None
            is_high_priority_stream = False

        def __init__(self, store: Any, rank: int, size: int, options: Any) -> None:
            super().__init__(rank, size)  # type: ignore[call-arg]
            self._rank, self._size, self.options = rank, size, options
            self._gloo = ProcessGroupGloo(store, rank, size, timeout=options._timeout)

        def rank(self) -> int:
            return self._rank

        def size(self) -> int:
            return self._size

        def name(self) -> str:
            return "nccl"

        def getBackendName(self) -> str:  # noqa: N802 (torch's name)
            return "nccl"

        _get_backend_name = getBackendName

        def _get_backend(self, device: Any) -> Any:
            return self

        @property
        def _device_types(self) -> list[Any]:
            import torch

            return [torch.device("cuda")]

        # torch keeps these in the C++ back ends of a group, and this one has none.
        def _set_group_name(self, name: str) -> None:
            self._name = name

        def _set_group_desc(self, described: str) -> None:
            self._described = described

        def getGroupName(self) -> str:  # noqa: N802 (torch's name)
            return self._name

        def getGroupDesc(self) -> str:  # noqa: N802 (torch's name)
            return self._described

        group_name, group_desc = property(getGroupName), property(getGroupDesc)

        def _set_sequence_number_for_group(self) -> None:
            self._gloo._set_sequence_number_for_group()

        def eager_connect_single_device(self, device: Any) -> None:
            """Gloo connects when it is made."""

        supports_splitting = False

        def _set_default_timeout(self, timeout: Any) -> None:
            self._gloo._set_default_timeout(timeout)

        def abort(self) -> None:
            """Nothing is under way between two calls."""

        shutdown = abort

    for name, theirs in _NAMES.items():
        setattr(ProcessGroupNCCL, name, _forwarded(theirs))
    for name, theirs in _COALESCED.items():
        setattr(ProcessGroupNCCL, name, _one_by_one(theirs))
    return ProcessGroupNCCL


def _forwarded(theirs: str) -> Callable[..., Any]:
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        _run(self, theirs, arguments, named)
        return _done(arguments)

    return call


def _one_by_one(theirs: str) -> Callable[..., Any]:
    def call(self: Any, outputs: Sequence[Any], inputs: Sequence[Any], *options: Any, **named: Any) -> Any:
        for output, given in zip(outputs, inputs, strict=True):
            _run(self, theirs, (output, given, *options), named)
        return _done((list(outputs),))

    return call


def _run(group: Any, theirs: str, arguments: Sequence[Any], named: dict[str, Any]) -> None:
    """One call of Gloo's on the memory of the tensors; its end is waited for."""
    import torch
    from torch.distributed import ReduceOp
    from torch.utils._pytree import tree_map_only

    def seen_by_host(tensor: Any) -> Any:
        return torch.ops.kpt_torch.host_view(tensor.detach()) if tensor.is_cuda else tensor.detach()

    torch.cuda.synchronize()
    averaged = [one for one in (*arguments, *named.values()) if getattr(one, "reduceOp", None) == ReduceOp.AVG]
    for options in averaged:  # Gloo has no average
        options.reduceOp = ReduceOp.SUM
    try:
        work = getattr(group._gloo, theirs)(*tree_map_only(torch.Tensor, seen_by_host, tuple(arguments)), **named)
        work.wait()
    finally:
        for options in averaged:
            options.reduceOp = ReduceOp.AVG
    if averaged:
        for tensor in _tensors(arguments):
            tensor.div_(group._size)


def _tensors(arguments: Sequence[Any]) -> list[Any]:
    """What a call writes to: its first argument."""
    import torch
    from torch.utils._pytree import tree_leaves

    return [leaf for leaf in tree_leaves(list(arguments[:1])) if isinstance(leaf, torch.Tensor)]


def _done(arguments: Sequence[Any]) -> Any:
    """A piece of work that is done."""
    import torch
    from torch._C._distributed_c10d import _create_work_from_future  # type: ignore[attr-defined]

    tensors = _tensors(arguments)
    devices = sorted({tensor.device for tensor in tensors if tensor.is_cuda}, key=str)
    future: Any = torch.futures.Future(devices=devices) if devices else torch.futures.Future()
    future.set_result(tensors)
    return _create_work_from_future(future)
