#!/usr/bin/env python3
"""Peak memory of one training step on an emulated GPU, as written and as the ladder has it.

    kpt emulate --gpu mi300x -- python benchmarks/training_memory.py [--words 32000] [--tokens 512]

A decoder of the Llama kind (two layers, bf16) that gives its loss, and its forward and backward pass. Each row adds one
rung: the Triton kernels keep fewer tensors for the backward pass, the chunked loss never has all scores. The loss and
the largest difference of a gradient are beside it. The emulated allocator counts bytes; there are no times here.
"""

from __future__ import annotations

import argparse
import gc
import sys

import torch
from torch import nn
from torch.nn import functional

from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.kernels.functions import ALWAYS
from kernel_pytorch.models.kernels.ops import register
from kernel_pytorch.models.rewrites.chunked_loss import chunked_loss
from kernel_pytorch.models.rewrites.gated import gated
from kernel_pytorch.models.rewrites.in_new_tree import rewritten
from kernel_pytorch.models.rewrites.norms import norms


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype)


class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.before, self.after = Norm(width), Norm(width)
        self.qkv, self.o = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (one.unflatten(-1, (4, -1)).transpose(1, 2) for one in self.qkv(self.before(x)).chunk(3, -1))
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(seen.transpose(1, 2).flatten(2))
        h = self.after(x)
        return x + self.down(functional.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    def __init__(self, width: int, words: int) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(words, width), nn.Linear(width, words, bias=False)
        self.layers, self.norm = nn.ModuleList(Layer(width) for _ in range(2)), Norm(width)

    def forward(self, words: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.embed(words)
        for layer in self.layers:
            x = layer(x)
        scores = self.head(self.norm(x)).float()
        return functional.cross_entropy(scores.view(-1, scores.shape[-1]), labels.view(-1))


def step(model: nn.Module, given: Inputs, before: int) -> tuple[float, int, list[torch.Tensor]]:
    """The loss, the most bytes that forward and backward take beyond the model, and the gradients."""
    for one in model.parameters():
        one.grad = None
    gc.collect()  # the graph of an earlier step may be in a cycle
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    loss = given.call(model)
    loss.backward()
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() - before
    return float(loss.detach()), peak, [one.grad.float().cpu() for one in model.parameters()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=32000)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--width", type=int, default=128)
    args = parser.parse_args()
    if not torch.cuda.is_available():
        print("there is no GPU: run it under `kpt emulate --gpu mi300x --`", file=sys.stderr)
        return 2
    torch.manual_seed(0)
    register()
    model = Decoder(args.width, args.words).bfloat16().cuda().train()
    given = Inputs(tuple(torch.randint(0, args.words, (2, args.tokens // 2)).cuda() for _ in range(2)), {})
    before = torch.cuda.memory_allocated()
    print(f"{torch.cuda.get_device_name(0)}; {args.tokens} tokens, {args.words} words, width {args.width}")
    print("| forward and backward | peak, MB | loss | largest difference of a gradient |\n|---|---|---|---|")
    loss, peak, plain = step(model, given, before)
    print(f"| as written | {peak / 1e6:.1f} | {loss:.5f} | |", flush=True)
    tree = model
    most = args.tokens * args.words // 8  # the usual chunks are for real sizes
    for name, rewrite in (("norms", norms(ALWAYS)), ("gated", gated(ALWAYS)), ("chunked loss", chunked_loss(most))):
        tree, _ = rewritten(tree, given, rewrite, nothing=name)
        loss, peak, found = step(tree, given, before)
        off = max(float((mine - own).norm() / own.norm()) for mine, own in zip(found, plain, strict=True))
        print(f"| + {name} | {peak / 1e6:.1f} | {loss:.5f} | {off:.2%} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
