"""Train a small transformer, on whatever there is.

    python examples/train.py                                  one process, CPU or one GPU
    torchrun --nproc-per-node 2 examples/train.py             two processes: GPUs if there are two, else CPU
    torchrun --nproc-per-node 8 examples/train.py --parallel fsdp

The same lines run on AMD, NVIDIA and CPU; the data is synthetic (each token is a function of the two before it).
"""

from __future__ import annotations

import argparse
import time

import torch
from torch import nn

from kernel_pytorch.backends import get_backend
from kernel_pytorch.backends.checkpoints import portable_state_dict
from kernel_pytorch.backends.distributed import joined, under_launcher

VOCABULARY = 64


class Block(nn.Module):
    """Attention and a feed-forward layer, normalised first."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads).unbind(2)
        mixed = nn.functional.scaled_dot_product_attention(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True
        )
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    """A small language model."""

    def __init__(self, width: int, layers: int, length: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, max(1, width // 32)) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def batch(size: int, length: int, generator: torch.Generator) -> torch.Tensor:
    """Sequences with a rule to learn."""
    rows = torch.randint(0, VOCABULARY, (size, length + 1), generator=generator)
    for place in range(2, length + 1):
        rows[:, place] = (3 * rows[:, place - 1] + rows[:, place - 2]) % VOCABULARY
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parallel", choices=("ddp", "fsdp"), default="ddp")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--batch", type=int, default=16, help="sequences per process")
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds to wait for the other processes")
    parser.add_argument("--save", help="write a checkpoint that loads on any device")
    options = parser.parse_args()

    backend = get_backend()
    with backend, joined(backend, parallel=options.parallel, join_timeout_s=options.timeout) as job:
        torch.manual_seed(0)
        model = Transformer(options.width, options.layers, options.length)
        model = backend.prepare_model(model, parallel=options.parallel if under_launcher() else None)
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        scaler = backend.grad_scaler()
        data = torch.Generator().manual_seed(job.rank)
        started = time.perf_counter()
        for step in range(options.steps):
            rows = batch(options.batch, options.length, data).to(backend.device)
            optimizer.zero_grad()
            logits = model(rows[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            if job.is_first and (step % 10 == 0 or step == options.steps - 1):
                print(f"step {step}: loss {loss.item():.4f}", flush=True)
        backend.synchronize()
        state = portable_state_dict(model) if options.save else None
        if job.is_first:
            seconds = time.perf_counter() - started
            print(f"{options.steps} steps on {job.world_size} x {backend.get_device_info()['name']}: {seconds:.1f} s")
            if options.save:
                torch.save(state, options.save)


if __name__ == "__main__":
    main()
