"""The kernels of decoding one token, as a share of the copy bandwidth of the GPU they run on.

    python benchmarks/decode_h200.py [--layers 22] [--model]

All that one token of a Llama-shaped decoder needs (TinyLlama 1.1B: 2048 wide, 5632 in the MLP, 32 heads over 4
key-value heads, a cache of 512), with random weights and recorded as one graph, without a model around it: five kernels
a layer, without and with the overlap of a kernel's loads with the kernel before it, and one kernel for all. Printed are
the time of a replay, the bandwidth at which weights were read, and its share of a large copy's, measured in the same
run; for the one kernel also how far its results are from those of the five.

With --model then the whole model of transformers, one token after another without waiting for each: by torch.compile
with reduce-overhead, and with each of the two recipes. Its embedding, of which a token needs one row, does not count as
read.
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


@dataclass(frozen=True)
class Token:
    """What goes in with one token."""

    start: Any
    norm: Any
    place: Any
    mask: Any
    cos: Any
    sin: Any


def random_token() -> Token:
    import torch

    start = torch.randn(1, HIDDEN, device="cuda", dtype=torch.bfloat16)
    norm = torch.ones(HIDDEN, device="cuda", dtype=torch.bfloat16)
    mask = torch.zeros(1, 1, 1, LENGTH, device="cuda", dtype=torch.bfloat16)
    mask[..., PLACE + 1 :] = float("-inf")
    angles = torch.rand(SIZE // 2, device="cuda") * 6
    cos, sin = (torch.cat([turn(angles)] * 2).bfloat16() for turn in (torch.cos, torch.sin))
    return Token(start, norm, torch.tensor([PLACE], device="cuda"), mask, cos, sin)


def ways(layers: list[Layer], head: Any, token: Token) -> dict[str, Callable[[], Any]]:
    """The same token in three ways."""
    from kernel_pytorch.perf.decode import launch
    from kernel_pytorch.perf.decode.decoder_steps import Steps, in_steps
    from kernel_pytorch.perf.decode.hopper import decoder_launch

    weights = [one for each in layers for one in (each.q, each.k, each.v, each.o, each.gate, each.up, each.down)]
    norms = [*(one for each in layers for one in each.norms), token.norm]
    caches = [one for each in layers for one in each.cache]
    rest = (head, token.place, token.mask, token.cos, token.sin, SIZE**-0.5, 1e-5)
    given = (token.start, weights, norms, caches, *rest)
    steps = Steps(launch.row_products, launch.row_gated, launch.attend_and_store)
    return {
        "five kernels a layer": lambda: in_steps(steps, *given),
        "five kernels a layer, overlapping": lambda: in_steps(steps, *given, overlaps=True),
        "one kernel": lambda: decoder_launch.decoder(*given),
    }


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


def model_loops(copy: float) -> None:
    """The same decoder as transformers has it, token after token."""
    import torch
    from optimize_models import decoder_one_token

    from kernel_pytorch.models.inputs import as_inputs
    from kernel_pytorch.perf.ladder.recipe import apply_recipe
    from kernel_pytorch.perf.ladder.rung import Step

    made = decoder_one_token()
    model, inputs = made["model"], as_inputs(made["inputs"])
    embedding = model.model.get_input_embeddings().weight
    size = sum(one.nbytes for one in model.parameters()) - embedding.nbytes

    def recipe(rung: str, *passes: str) -> Callable[[], Any]:
        options = {"inductor": {"coordinate_descent_tuning": False}, "passes": list(passes)}
        call = apply_recipe(model, inputs, (Step("graph_capture", {}), Step(rung, options)))
        return lambda: inputs.call(call)

    def reduce_overhead() -> Callable[[], Any]:
        call = torch.compile(model, mode="reduce-overhead")
        return lambda: inputs.call(call)

    for name, make in (
        ("recipe, one kernel", lambda: recipe("one_kernel_decoder", "one row", "one kernel")),
        ("recipe, five kernels a layer", lambda: recipe("one_row_kernels", "one row")),
        ("torch.compile, reduce-overhead", reduce_overhead),
    ):
        time = milliseconds(make(), 100)
        rate = size / time / 1e6
        print(
            f"model, {name}: {time * 1e3:.1f} us a token, {rate:.0f} GB/s, {100 * rate / copy:.1f} % of a copy",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=22)
    parser.add_argument("--model", action="store_true", help="also the whole model of transformers, in a loop")
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
    all_ways = ways(layers, head, random_token())
    expected = all_ways["five kernels a layer"]().float()
    for name, call in all_ways.items():
        away = (call().float() - expected).abs().max().item()
        time = milliseconds(recorded(call), 20)
        rate = size / time / 1e6
        print(
            f"{name}: {time * 1e3:.1f} us, {rate:.0f} GB/s, {100 * rate / copy:.1f} % of a copy, "
            f"at most {away:.3f} away in scores up to {expected.abs().max().item():.1f}",
            flush=True,
        )
    if args.model:
        del layers, head, all_ways, call
        model_loops(copy)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
