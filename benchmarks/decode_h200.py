"""The kernels of decoding one token, as a share of the copy bandwidth of the GPU they run on.

    python benchmarks/decode_h200.py [--layers 22]

All kernels that one token of a Llama-shaped decoder needs (TinyLlama 1.1B: 2048 wide, 5632 in the MLP, 32 heads over 4
key-value heads, a cache of 512), launched one after another with random weights and recorded as one graph, without a
model around them. Printed are the time of a replay with and without the overlap of a kernel's loads with the kernel
before it, the bandwidth at which weights were read, and its share of a large copy's, measured in the same run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

HIDDEN, WIDE, WORDS = 2048, 5632, 32000
HEADS, SHARED, SIZE, LENGTH, PLACE = 32, 4, 64, 512, 300


@dataclass(frozen=True)
class Layer:
    """One decoder layer's weights and cache."""

    q: Any
    k: Any
    v: Any
    o: Any
    gate: Any
    up: Any
    down: Any
    norms: tuple[Any, Any]
    cache: tuple[Any, Any]

    @property
    def weight_bytes(self) -> int:
        return sum(int(one.nbytes) for one in (self.q, self.k, self.v, self.o, self.gate, self.up, self.down))


def random_matrix(rows: int, columns: int) -> Any:
    import torch

    return torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16) / columns**0.5


def random_layer() -> Layer:
    import torch

    norms = tuple(torch.ones(HIDDEN, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    cache = tuple(torch.randn(1, SHARED, LENGTH, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    few = SHARED * SIZE
    square, low = (HIDDEN, HIDDEN), (few, HIDDEN)
    shapes = (square, low, low, square, (WIDE, HIDDEN), (WIDE, HIDDEN), (HIDDEN, WIDE))
    return Layer(*(random_matrix(*shape) for shape in shapes), norms, cache)  # type: ignore[arg-type]


def one_token(layers: list[Layer], head: Any, overlaps: bool) -> Callable[[], Any]:
    """The launches of one token."""
    import torch

    from kernel_pytorch.perf.decode import launch

    start = torch.randn(1, HIDDEN, device="cuda", dtype=torch.bfloat16)
    norm = torch.ones(HIDDEN, device="cuda", dtype=torch.bfloat16)
    place = torch.tensor([PLACE], device="cuda")
    cos, sin = (torch.randn(SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    mask = torch.zeros(1, 1, 1, LENGTH, device="cuda", dtype=torch.bfloat16)
    mask[..., PLACE + 1 :] = float("-inf")
    few = SHARED * SIZE

    def run() -> Any:
        x = start
        for number, layer in enumerate(layers):
            first = overlaps and number > 0
            qkv = launch.row_products(x, [layer.q, layer.k, layer.v], layer.norms[0], 1e-5, None, None, first)
            q = qkv[:, :HIDDEN].view(1, HEADS, 1, SIZE)
            k = qkv[:, HIDDEN : HIDDEN + few].view(1, SHARED, 1, SIZE)
            v = qkv[:, HIDDEN + few :].view(1, SHARED, 1, SIZE)
            seen = launch.attend_and_store(q, k, v, *layer.cache, place, mask, cos, sin, SIZE**-0.5, overlaps)
            x = launch.row_products(seen.view(1, HIDDEN), [layer.o], None, 0.0, None, x, overlaps)
            middle = launch.row_gated(x, layer.gate, layer.up, layer.norms[1], 1e-5, overlaps)
            x = launch.row_products(middle, [layer.down], None, 0.0, None, x, overlaps)
        return launch.row_products(x, [head], norm, 1e-5, None, None, overlaps)

    return run


def milliseconds(call: Callable[[], object], repeats: int) -> float:
    """The median of seven bunches of calls."""
    import torch

    for _ in range(3):
        call()
    times = []
    for _ in range(7):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(repeats):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / repeats)
    return sorted(times)[3]


def copy_rate() -> float:
    """GB/s of a large copy, bytes read and written."""
    import torch

    source = torch.randn(1 << 29, device="cuda", dtype=torch.bfloat16)
    target = torch.empty_like(source)
    return 2 * source.nbytes / milliseconds(lambda: target.copy_(source), 5) / 1e6


def recorded(call: Callable[[], object]) -> Callable[[], object]:
    import torch

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        call()
        call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=22)
    args = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        print("not run: this needs a GPU and a torch built for it", file=sys.stderr)
        return 2
    torch.set_grad_enabled(False)
    copy = copy_rate()
    layers = [random_layer() for _ in range(args.layers)]
    head = random_matrix(WORDS, HIDDEN)
    size = sum(layer.weight_bytes for layer in layers) + head.nbytes
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, copy {copy:.0f} GB/s, weights {size / 1e9:.2f} GB"
    )
    for overlaps in (False, True):
        time = milliseconds(recorded(one_token(layers, head, overlaps)), 20)
        rate = size / time / 1e6
        label = "on" if overlaps else "off"
        print(f"overlap {label}: {time * 1e3:.1f} us, {rate:.0f} GB/s, {100 * rate / copy:.1f} % of a copy")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
