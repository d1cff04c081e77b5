"""What the emulated GPU costs torch: operators and a training step on "cuda", as ratios to plain CPU torch in one run.

    kpt emulate --gpu mi300x -- python benchmarks/torch_device.py [--threads 1] [--json]

Both run in this process, in turns, and medians of processor time are compared: a busy machine changes little.
Operators on small tensors show the cost of a call; the training step is a small transformer. No time here says anything
about a GPU: ATen computes on the CPU.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F  # noqa: N812 (everybody's name for it)

SMALL = 64


def operators(device: str) -> dict[str, Callable[[], Any]]:
    a, b = torch.randn(SMALL, SMALL, device=device), torch.randn(SMALL, SMALL, device=device)
    half = a.half()
    out = torch.empty_like(a)
    index = torch.arange(SMALL, device=device)
    parts = [a, b]
    return {
        "add": lambda: a.add(b),
        "add with a number": lambda: a.add(1),
        "add in place": lambda: a.add_(0),
        "add to a given tensor": lambda: torch.add(a, b, out=out),
        "view": lambda: a.view(-1),
        "transpose": lambda: a.t(),
        "slice": lambda: a[1:3],
        "empty": lambda: torch.empty(SMALL, device=device),
        "half precision add": lambda: half.add(half),
        "sum": lambda: a.sum(),
        "matrix product": lambda: a.mm(b),
        "softmax": lambda: a.softmax(1),
        "layer norm": lambda: F.layer_norm(a, (SMALL,)),
        "index": lambda: a[index],
        "cat": lambda: torch.cat(parts),
        "item": lambda: a[0, 0].item(),
    }


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2) for part in self.qkv(self.first(x)).split(c, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.second(x))


def training_step(device: str) -> Callable[[], None]:
    torch.manual_seed(0)
    width, words, length, batch = 128, 512, 64, 8
    model = nn.Sequential(nn.Embedding(words, width), Block(width, 4), Block(width, 4), nn.Linear(width, words)).to(
        device
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    data = torch.randint(words, (batch, length + 1), generator=torch.Generator().manual_seed(1)).to(device)

    def step() -> None:
        loss = F.cross_entropy(model(data[:, :-1]).flatten(0, 1), data[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return step


def seconds(call: Callable[[], Any], times: int) -> float:
    started = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - started) / times


def compare(cpu: Callable[[], Any], gpu: Callable[[], Any], times: int, rounds: int) -> dict[str, float]:
    """In turns, so that what else the machine does falls on both."""
    for call in (cpu, gpu):
        seconds(call, max(1, times // 10))
    pairs = [(seconds(cpu, times), seconds(gpu, times)) for _ in range(rounds)]
    one, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = [gpu_s / cpu_s for cpu_s, gpu_s in pairs]
    return {
        "cpu_us": one * 1e6,
        "emulated_us": other * 1e6,
        "ratio": statistics.median(ratios),
        "more_us": (other - one) * 1e6,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if not torch.cuda.is_available():
        print(
            "no GPU: start this with `kpt emulate --gpu mi300x -- python benchmarks/torch_device.py`", file=sys.stderr
        )
        return 2
    cpu, gpu = operators("cpu"), operators("cuda")
    found = {name: compare(cpu[name], gpu[name], times=1000, rounds=9) for name in cpu}
    found["training step"] = compare(training_step("cpu"), training_step("cuda"), times=5, rounds=9)
    if args.json:
        print(json.dumps(found, indent=1))
        return 0
    print(f"{'':24}{'plain CPU':>12}{'emulated':>12}{'more':>10}{'ratio':>8}")
    for name, row in found.items():
        print(
            f"{name:24}{row['cpu_us']:9.1f} us{row['emulated_us']:9.1f} us{row['more_us']:7.1f} us{row['ratio']:8.2f}"
        )
    more = statistics.median(row["more_us"] for name, row in found.items() if name != "training step")
    print(f"median of the operators: {more:.1f} us more than on the plain CPU")
    return 0


if __name__ == "__main__":
    sys.exit(main())
