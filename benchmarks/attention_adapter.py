"""What the generated attention adapter costs per call beside plain SDPA, in one run.

    python benchmarks/attention_adapter.py [--compile] [--device cuda]

Twelve layers of small, causal, half-precision attention: the time is what Python and the dispatcher need. "by hand" is
what a person would write, SDPA with its transposes. `--compile` compiles both and counts graph breaks.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from typing import Any

import torch

from kernel_pytorch.models.clock.device import Timer, current_device
from kernel_pytorch.models.clock.rounds import Sampling, local_contender, take_rounds, warm_up
from kernel_pytorch.models.clock.sensors import sensors_of
from kernel_pytorch.port.templates import rocm_attention

LAYERS = 12


def by_hand(q: Any, k: Any, v: Any) -> Any:
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)


def by_adapter(q: Any, k: Any, v: Any) -> Any:
    return rocm_attention.flash_attn_func(q, k, v, causal=True)


def layers(attention: Callable[..., Any]) -> Callable[..., Any]:
    def run(q: Any, k: Any, v: Any) -> Any:
        for _ in range(LAYERS):
            q = attention(q, k, v)
        return q

    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.set_num_threads(1)  # sizes this small only wait for each other
    inputs = [torch.randn(1, 8, 4, 16, device=options.device, dtype=torch.bfloat16) for _ in range(3)]
    runs = {"SDPA by hand": layers(by_hand), "the adapter": layers(by_adapter)}
    if options.compile:
        for name, run in runs.items():
            seen = torch._dynamo.explain(run)(*inputs)
            print(f"{name}: {seen.graph_count} graph, {seen.graph_break_count} breaks")
        torch._dynamo.reset()
        runs = {name: torch.compile(run, fullgraph=True, backend="aot_eager") for name, run in runs.items()}
    device = current_device(force_cpu=options.device == "cpu")
    timer = Timer(device)
    contenders = [local_contender(name, [lambda run=run: run(*inputs)], timer) for name, run in runs.items()]
    sampling = Sampling(samples=30, seconds=20.0)
    with torch.no_grad():
        warm_up(contenders, sampling)
        take_rounds(contenders, sensors_of(device), sampling)
    each = [statistics.median(one.times_ms) * 1e3 / LAYERS for one in contenders]
    for one, microseconds in zip(contenders, each, strict=True):
        print(f"{one.name}: {microseconds:.1f} us for each call")
    print(f"ratio {each[1] / each[0]:.2f} on {device.name}, served by {rocm_attention.last_tier()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
