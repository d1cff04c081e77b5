"""Several processes as one job, on torch.distributed: joining, leaving, and ending together when one fails.

    with joined(backend) as job:
        model = backend.prepare_model(model, parallel="ddp")
        ...

Under torchrun every process joins the job; a single process is a job of one and nothing is started.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any

from kernel_pytorch.backends.notices import say_once
from kernel_pytorch.backends.topology import collective_variables, gpu_links, missing_variables
from kernel_pytorch.backends.watch import Watch, stop_message
from kernel_pytorch.core.errors import AMDBackendError
from kernel_pytorch.core.platform import current_probe

if TYPE_CHECKING:
    import torch
    from torch.distributed import Store

    from kernel_pytorch.backends.device_backend import DeviceBackend

_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_LOST_PEER = ("connection closed by peer", "connection reset", "broken pipe", "gloo", "nccl", "socket", "timed out")


class DistributedError(AMDBackendError):
    """A job of several processes could not start, or one of its processes failed."""


@dataclass(frozen=True)
class Job:
    """This process's place in the job."""

    rank: int
    world_size: int
    local_rank: int
    backend: str  # "nccl" (RCCL on AMD), "gloo", or "" for one process

    @property
    def is_first(self) -> bool:
        """Rank 0: the one that prints and saves."""
        return self.rank == 0


@dataclass
class _State:
    job: Job
    watch: Watch
    excepthook: Any


_state: dict[int, _State] = {}
"""By process: a fork has not joined."""
_lock = threading.Lock()


def under_launcher() -> bool:
    """Did torchrun, or someone who sets its variables, start several processes?"""
    return int(os.environ.get("WORLD_SIZE", "1") or "1") > 1


def join(
    backend: DeviceBackend,
    *,
    parallel: str | None = None,
    join_timeout_s: float = 120.0,
    collective_timeout_s: float = 600.0,
    silence_limit_s: float = 30.0,
    grace_s: float = 5.0,
) -> Job:
    """Join the job that torchrun started. A second call gives the same answer.

    Raises DistributedError if the variables are incomplete, or the master or a rank does not join in time.
    """
    import torch.distributed as dist

    if not under_launcher():
        return Job(0, 1, 0, "")
    with _lock:
        if os.getpid() in _state:
            return _state[os.getpid()].job
        job = _job_from_environment(backend.device)
        if dist.is_initialized():  # the program did it: then it also decides how failures end
            return job
        _set_variables(backend, parallel)
        store = _start(job, backend.device, join_timeout_s, collective_timeout_s)
        watch = Watch(store, job.rank, job.world_size, silence_limit_s=silence_limit_s, grace_s=grace_s)
        _state[os.getpid()] = _State(job, watch, sys.excepthook)
        sys.excepthook = _announcing_hook
        atexit.register(_stop_watching)
        return job


def _stop_watching() -> None:
    """For a program that ends without `leave`. It may have failed, so nobody is told that it left in good order."""
    state = _state.get(os.getpid())
    if state is not None:
        state.watch.stop(leaves=False)


def leave() -> None:
    """Leave the job in good order."""
    import torch.distributed as dist

    with _lock:
        state = _state.pop(os.getpid(), None)
    if state is None:
        return
    sys.excepthook = state.excepthook
    state.watch.stop()
    if dist.is_initialized():
        with suppress(RuntimeError):  # of a job that is breaking down
            dist.destroy_process_group()


@contextmanager
def joined(backend: DeviceBackend, **options: Any) -> Iterator[Job]:
    """A job for the length of a block; options as for `join`.

    When the block raises, the other ranks learn of it. When it raises because another rank failed, DistributedError
    says which and why.
    """
    job = join(backend, **options)
    try:
        yield job
    except BaseException as error:
        ends_well = isinstance(error, SystemExit) and error.code in (None, 0)
        failure = None if ends_well else _explained(error)
        leave()
        if failure is not None:
            raise failure from error
        raise
    leave()


def _explained(error: BaseException) -> DistributedError | None:
    """Tell the others of this failure, or learn that it is the consequence of another rank's."""
    state = _state.get(os.getpid())
    if state is None:
        return None
    job, watch = state.job, state.watch
    text = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    known = watch.failure(wait_s=3.0 if _is_communication(error) else 0.0)
    if known is not None and known[0] != job.rank:
        message = stop_message(job.rank, job.world_size, *known)
        return DistributedError(message, {"failed_rank": known[0], "reason": known[1]})
    watch.announce(text)
    if job.is_first:
        time.sleep(2.0)  # this rank may be the one that holds the store: let the others read it
    if _is_communication(error):
        return DistributedError(
            f"rank {job.rank} of {job.world_size} lost the connection to another rank, which was killed, ran out of "
            f"host memory or hangs; that rank's own output tells more ({text})"
        )
    return None


def _announcing_hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    state = _state.get(os.getpid())
    failure = _explained(error)
    (state.excepthook if state is not None else sys.__excepthook__)(kind, error, trace)
    if failure is not None:
        sys.stderr.write(f"{failure}\n")
    leave()


def _is_communication(error: BaseException) -> bool:
    import torch.distributed as dist

    if isinstance(error, getattr(dist, "DistError", ())):
        return True
    return isinstance(error, RuntimeError) and any(word in str(error).lower() for word in _LOST_PEER)


def _job_from_environment(device: torch.device) -> Job:
    lacking = [name for name in _VARIABLES if not os.environ.get(name)]
    if lacking:
        raise DistributedError(
            f"WORLD_SIZE is {os.environ['WORLD_SIZE']}, but {', '.join(lacking)} is not set: start the program with "
            "torchrun --nproc-per-node N, which sets them"
        )
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if not 0 <= rank < size:
        raise DistributedError(f"RANK={rank} is outside 0 to {size - 1} (WORLD_SIZE={size})")
    name = "nccl" if device.type == "cuda" else "gloo"
    return Job(rank, size, int(os.environ.get("LOCAL_RANK", rank)), name)


def _start(job: Job, device: torch.device, join_timeout_s: float, collective_timeout_s: float) -> Store:
    import torch
    import torch.distributed as dist

    where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    try:
        if device.type == "cuda":
            torch.cuda.set_device(device)
        store, rank, size = next(dist.rendezvous("env://", timeout=timedelta(seconds=join_timeout_s)))
        store.set_timeout(timedelta(seconds=join_timeout_s))
        dist.init_process_group(
            job.backend, store=store, rank=rank, world_size=size, timeout=timedelta(seconds=collective_timeout_s)
        )
        _meet(store, job, join_timeout_s)
    except Exception as error:
        if dist.is_initialized():
            dist.destroy_process_group()
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise DistributedError(
            f"rank {job.rank} of {job.world_size} could not join the job at {where} within {join_timeout_s:g} s: "
            f"{first}. Check that rank 0 is running, that its address is reachable from here, that the port is open, "
            f"and that all {job.world_size} ranks were started",
            {"rank": job.rank, "world_size": job.world_size, "master": where},
        ) from error
    return store


def _meet(store: Store, job: Job, timeout_s: float) -> None:
    """Wait until every rank has come this far, so that a missing one is noticed now."""
    store.set(f"kpt/here/{job.rank}", "1")
    store.wait([f"kpt/here/{rank}" for rank in range(job.world_size)], timedelta(seconds=timeout_s))


def _set_variables(backend: DeviceBackend, parallel: str | None) -> None:
    import torch

    info = backend.get_device_info()
    if backend.device.type != "cuda":
        return
    links = gpu_links(backend.vendor, current_probe())
    wanted = collective_variables(backend.vendor, info["target"], links, torch.cuda.device_count(), parallel)
    for name, value in missing_variables(wanted, os.environ).items():
        os.environ[name] = value
        if name in ("GPU_MAX_HW_QUEUES", "HSA_FORCE_FINE_GRAIN_PCIE") and torch.cuda.is_initialized():
            say_once(f"{name}={value} comes too late: the GPU is in use already. Export it before the program starts")
