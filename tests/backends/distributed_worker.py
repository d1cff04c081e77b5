"""One rank of the jobs in test_distributed.py: `python distributed_worker.py MODE`, with torchrun's variables set."""

from __future__ import annotations

import os
import signal
import sys

import torch
import torch.distributed as dist
from torch import nn

from kernel_pytorch.backends.amd import AMDBackend, AMDMemoryManager
from kernel_pytorch.backends.checkpoints import load_portable_state_dict, portable_state_dict
from kernel_pytorch.backends.distributed import joined
from kernel_pytorch.backends.prepare import preparation_of
from kernel_pytorch.core.config import AMDConfig

LIMITS = {"join_timeout_s": 60.0, "collective_timeout_s": 60.0, "silence_limit_s": 15.0, "grace_s": 2.0}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
        self.head = nn.Linear(8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


def train(kind: str, precision: str) -> None:
    backend = AMDBackend(AMDConfig(default_precision=precision))
    with joined(backend, **LIMITS) as job:
        torch.manual_seed(0)
        bare = Net()
        keys = list(bare.state_dict())
        start = {key: value.clone() for key, value in bare.state_dict().items()}
        model = backend.prepare_model(bare, parallel=kind)
        done = preparation_of(model)
        assert done is not None and done.parallel == kind
        assert list(model.state_dict()) == keys, list(model.state_dict())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        generator = torch.Generator().manual_seed(job.rank)
        for _ in range(3):
            optimizer.zero_grad()
            x = torch.randn(4, 8, generator=generator)
            nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()
        state = portable_state_dict(model)
        if job.is_first or kind == "ddp":
            assert list(state) == keys and not torch.equal(state["head.weight"], start["head.weight"])
        if job.is_first:
            print("weights", f"{sum(float(value.double().sum()) for value in state.values()):.5f}")
        load_portable_state_dict(model, start if job.is_first or kind == "ddp" else {})
        again = portable_state_dict(model)
        if job.is_first:
            assert all(torch.equal(again[key], start[key]) for key in keys)
            print("loaded again")


def fail(how: str) -> None:
    backend = AMDBackend()
    limits = {**LIMITS, "silence_limit_s": 8.0} if how == "hangs" else LIMITS
    with joined(backend, **limits) as job:
        backend.prepare_model(nn.Linear(2, 2), parallel="ddp")
        if job.rank == 1:
            if how == "raises":
                raise ValueError("bad batch 17")
            if how == "memory":
                torch.empty(2**60, dtype=torch.uint8)
            if how == "guarded":
                with AMDMemoryManager(device="cpu").protect("a training step", 2**60):
                    raise AssertionError("a step that cannot fit was begun")
            if how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if how == "hangs":
                os.kill(os.getpid(), signal.SIGSTOP)
        for _ in range(1000):
            dist.all_reduce(torch.ones(4))
            if how == "hangs" and job.rank == 0:
                import time

                time.sleep(0.5)


def uncaught() -> None:
    backend = AMDBackend()
    backend.prepare_model(nn.Linear(2, 2), parallel="ddp")  # joins by itself
    if dist.get_rank() == 1:
        raise KeyError("label")
    for _ in range(1000):
        dist.all_reduce(torch.ones(4))


def unreachable() -> None:
    with joined(AMDBackend(), join_timeout_s=float(sys.argv[2])):
        raise AssertionError("joined a job without a master")


if __name__ == "__main__":
    mode, _, detail = sys.argv[1].partition(":")
    if mode in ("ddp", "fsdp"):
        train(mode, detail or "fp32")
    else:
        {"fail": lambda: fail(detail), "uncaught": uncaught, "unreachable": unreachable}[mode]()
