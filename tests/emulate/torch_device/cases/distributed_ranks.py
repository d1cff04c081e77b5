"""Two processes with an emulated GPU each: collectives of "nccl", DDP and FSDP2. Call: FILE RANK STORE."""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed as dist
import torch.nn as nn


def main(rank: int, store: str) -> None:
    os.environ["LOCAL_RANK"] = str(rank)
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", init_method=f"file://{store}", rank=rank, world_size=2)
    assert dist.get_backend() == "nccl"

    x = torch.full((4,), float(rank + 1), device="cuda")
    dist.all_reduce(x)
    assert x.tolist() == [3.0] * 4
    x = torch.full((4,), float(rank + 1), device="cuda")
    dist.all_reduce(x, op=dist.ReduceOp.AVG)
    assert x.tolist() == [1.5] * 4
    x.fill_(rank)
    dist.broadcast(x, src=1)
    assert x.tolist() == [1.0] * 4
    both = torch.empty(4, device="cuda")
    dist.all_gather_into_tensor(both, torch.full((2,), float(rank), device="cuda"))
    assert both.tolist() == [0.0, 0.0, 1.0, 1.0]
    half = torch.empty(2, device="cuda")
    dist.reduce_scatter_tensor(half, torch.arange(4.0, device="cuda"))
    assert half.tolist() == ([0.0, 2.0] if rank == 0 else [4.0, 6.0])
    parts = [torch.empty(1, device="cuda") for _ in range(2)]
    dist.all_gather(parts, torch.ones(1, device="cuda") * rank)
    assert [part.item() for part in parts] == [0.0, 1.0]
    dist.barrier()

    def gradient(wrap: object) -> torch.Tensor:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)).cuda()
        wrapped = wrap(model)  # type: ignore[operator]
        torch.manual_seed(rank)
        wrapped(torch.randn(4, 6, device="cuda")).square().mean().backward()
        found = next(wrapped.parameters()).grad
        return found.full_tensor() if hasattr(found, "full_tensor") else found

    def alone(model: nn.Module) -> nn.Module:
        return model

    wanted = gradient(alone)
    dist.all_reduce(wanted, op=dist.ReduceOp.AVG)
    with_ddp = gradient(lambda model: nn.parallel.DistributedDataParallel(model, device_ids=[0]))
    torch.testing.assert_close(with_ddp, wanted)

    from torch.distributed.fsdp import fully_shard

    with_fsdp = gradient(lambda model: fully_shard(model))
    torch.testing.assert_close(with_fsdp, wanted)
    # torch's own figures are taken once after ten steps.
    ddp = nn.parallel.DistributedDataParallel(nn.Linear(4, 1).cuda(), device_ids=[0])
    for _ in range(12):
        ddp(torch.ones(2, 4, device="cuda")).sum().backward()

    sharded = nn.Linear(4, 6).cuda()
    fully_shard(sharded)
    before = sharded.weight.full_tensor()
    torch.manual_seed(3)
    sharded.reset_parameters()  # random numbers for a tensor of which each GPU has a part
    after = sharded.weight.full_tensor()
    dist.broadcast(both := after.clone(), src=0)
    assert torch.equal(both, after) and not torch.equal(before, after) and after.unique().numel() == 24
    dist.destroy_process_group()
    print(f"rank {rank} good", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
