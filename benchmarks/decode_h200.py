"""The kernels of decoding one token, as a share of the copy bandwidth of the GPU they run on.

    python benchmarks/decode_h200.py [--of NAME ...] [--model] [--json FILE]

All that one token of a decoder needs, with random weights, a cache of 512, and recorded as one graph, without a model
around it: five kernels a layer, without and with the overlap of a kernel's loads with the kernel before it, and one
kernel for all. Printed are the time of a replay, the bandwidth at which weights were read, and its share of a large
copy's, measured in the same run; for the one kernel also how far its results are from those of the five.

With --model then the whole model of transformers, one token after another without waiting for each: by torch.compile
with reduce-overhead, and with each of the two recipes. An embedding, of which a token needs one row, does not count as
read, unless its weights are those of the last product too.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from optimize_models import (  # noqa: E402
    LLAMA_3_8B,
    LLAMA_32_1B,
    LLAMA_32_3B,
    QWEN3_06B,
    decoder_one_token,
    one_token_of,
    sizes_of,
)

LENGTH, PLACE = 512, 300
TINY_LLAMA = sizes_of(2048, 5632, 22, 32, 4, 32000, head_dim=64)
QWEN3_17B = sizes_of(2048, 6144, 28, 16, 8, 151936, head_dim=128, tie_word_embeddings=True)
QWEN3_4B = sizes_of(2560, 9728, 36, 32, 8, 151936, head_dim=128, tie_word_embeddings=True)
QWEN3_8B = sizes_of(4096, 12288, 36, 32, 8, 151936, head_dim=128)
DECODERS: dict[str, tuple[str, dict[str, Any]]] = {
    "TinyLlama-1.1B": ("Llama", TINY_LLAMA),
    "Llama-3.2-1B": ("Llama", LLAMA_32_1B),
    "Llama-3.2-3B": ("Llama", LLAMA_32_3B),
    "Llama-3-8B": ("Llama", LLAMA_3_8B),
    "Qwen3-0.6B": ("Qwen3", QWEN3_06B),
    "Qwen3-1.7B": ("Qwen3", QWEN3_17B),
    "Qwen3-4B": ("Qwen3", QWEN3_4B),
    "Qwen3-8B": ("Qwen3", QWEN3_8B),
}


def say(text: str) -> None:
    print(text, flush=True)


def random_matrix(rows: int, columns: int) -> Any:
    import torch

    return torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16) / columns**0.5


def given(family: str, sizes: dict[str, Any]) -> tuple[tuple[Any, ...], Any, int]:
    """What the operator `decoder` takes, what this family has beyond, and the bytes of the weights."""
    import torch

    from kernel_pytorch.perf.decode.form import Extras

    hidden, wide, layers = sizes["hidden_size"], sizes["intermediate_size"], sizes["num_hidden_layers"]
    heads, shared, size = sizes["num_attention_heads"], sizes["num_key_value_heads"], sizes["head_dim"]
    square, few = (heads * size, hidden), (shared * size, hidden)
    shapes = (square, few, few, square[::-1], (wide, hidden), (wide, hidden), (hidden, wide))
    weights = [random_matrix(*shape) for _ in range(layers) for shape in shapes]
    head = random_matrix(sizes["vocab_size"], hidden)

    def ones(length: int, count: int) -> list[Any]:
        return [torch.ones(length, device="cuda", dtype=torch.bfloat16) for _ in range(count)]

    cache = (1, shared, LENGTH, size)
    caches = [torch.randn(cache, device="cuda", dtype=torch.bfloat16) for _ in range(2 * layers)]
    mask = torch.zeros(1, 1, 1, LENGTH, device="cuda", dtype=torch.bfloat16)
    mask[..., PLACE + 1 :] = float("-inf")
    angles = torch.rand(size // 2, device="cuda") * 6
    cos, sin = (torch.cat([turn(angles)] * 2).bfloat16() for turn in (torch.cos, torch.sin))
    start = torch.randn(1, hidden, device="cuda", dtype=torch.bfloat16)
    rest = (torch.tensor([PLACE], device="cuda"), mask, cos, sin, size**-0.5, 1e-5)
    extras = Extras([], ones(size, 2 * layers) if family == "Qwen3" else [], [], [], [])
    read = sum(one.nbytes for one in (*weights, head))
    return (start, weights, ones(hidden, 2 * layers + 1), caches, head, *rest), extras, read


def ways(tensors: tuple[Any, ...], extras: Any) -> dict[str, Callable[[], Any]]:
    """The same token in three ways."""
    from kernel_pytorch.perf.decode import launch
    from kernel_pytorch.perf.decode.decoder_steps import Steps, in_steps
    from kernel_pytorch.perf.decode.hopper import decoder_launch

    steps = Steps(launch.row_products, launch.row_gated, launch.attend_and_store)
    return {
        "five kernels a layer": lambda: in_steps(steps, *tensors, extras=extras),
        "five kernels a layer, overlapping": lambda: in_steps(steps, *tensors, overlaps=True, extras=extras),
        "one kernel": lambda: decoder_launch.decoder(*tensors, extras),
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


def kernels_alone(name: str, copy: float) -> list[dict[str, Any]]:
    tensors, extras, size = given(*DECODERS[name])
    all_ways = ways(tensors, extras)
    expected = all_ways["five kernels a layer"]().float()
    rows = []
    for way, call in all_ways.items():
        away = (call().float() - expected).abs().max().item()
        time = milliseconds(recorded(call), 20)
        share = 100 * size / time / 1e6 / copy
        say(
            f"{name} ({size / 1e9:.2f} GB), {way}: {time * 1e3:.1f} us, {share:.1f} % of a copy, "
            f"at most {away:.3f} away in scores up to {expected.abs().max().item():.1f}"
        )
        rows.append({"decoder": name, "way": way, "us": time * 1e3, "share": share, "away": away})
    return rows


def model_loops(name: str, copy: float) -> list[dict[str, Any]]:
    """The same decoder as transformers has it, token after token."""
    import torch

    from kernel_pytorch.models.inputs import as_inputs
    from kernel_pytorch.perf.ladder.recipe import apply_recipe
    from kernel_pytorch.perf.ladder.rung import Step

    family, sizes = DECODERS[name]
    made = decoder_one_token() if name == "TinyLlama-1.1B" else one_token_of(family, sizes)
    model, inputs = made["model"], as_inputs(made["inputs"])
    embedding = model.model.get_input_embeddings().weight
    size = sum(one.nbytes for one in model.parameters())
    if not sizes.get("tie_word_embeddings"):
        size -= embedding.nbytes

    def recipe(rung: str, *passes: str) -> Callable[[], Any]:
        options = {"inductor": {"coordinate_descent_tuning": False}, "passes": list(passes)}
        call = apply_recipe(model, inputs, (Step("graph_capture", {}), Step(rung, options)))
        return lambda: inputs.call(call)

    def reduce_overhead() -> Callable[[], Any]:
        call = torch.compile(model, mode="reduce-overhead")
        return lambda: inputs.call(call)

    rows = []
    for way, make in (
        ("recipe, one kernel", partial(recipe, "one_kernel_decoder", "one row", "one kernel")),
        ("recipe, five kernels a layer", partial(recipe, "one_row_kernels", "one row")),
        ("torch.compile, reduce-overhead", reduce_overhead),
    ):
        torch._dynamo.reset()
        time = milliseconds(make(), 100)
        share = 100 * size / time / 1e6 / copy
        say(f"{name}, whole model, {way}: {time * 1e3:.1f} us a token, {share:.1f} % of a copy")
        rows.append({"decoder": name, "way": f"model, {way}", "us": time * 1e3, "share": share})
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--of", nargs="+", choices=[*DECODERS, "all"], default=["TinyLlama-1.1B"])
    parser.add_argument("--model", action="store_true", help="also the whole model of transformers, in a loop")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        print("not run: this needs a GPU and a torch built for it", file=sys.stderr)
        return 2
    torch.set_grad_enabled(False)
    copy = copy_rate()
    say(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, copy {copy:.0f} GB/s")
    rows: list[dict[str, Any]] = [{"copy_gbs": copy}]
    for name in DECODERS if "all" in args.of else args.of:
        for measure in (kernels_alone, model_loops) if args.model else (kernels_alone,):
            rows += measure(name, copy)
            torch.cuda.empty_cache()
            if args.json:
                args.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
