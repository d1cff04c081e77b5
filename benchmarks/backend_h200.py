"""What prepare_model and AMDOptimizer are worth on this GPU, next to plain torch in the same run.

    python benchmarks/backend_h200.py [--json FILE] [--only inference|training] [--levels ...] [--models ...]

Inference: three models in bf16 under no_grad; eager, torch.compile with its defaults, and AMDOptimizer at each
level. Training: 200 steps of a transformer in bf16 under autocast; a plain loop twice (what differs between the two
is noise), the prepared model, and the prepared model optimised. Samples are interleaved, in a new order each round.
Ratios are of paired samples, with the 95 % interval of their median by bootstrap; "same" is an interval that holds 1.
Times are wall clock from the first call to the end of the GPU's work, so that launches count. Exit 1 if ours is slower
than the better of the others. --no-search leaves the search over kernels, which takes minutes, out of aggressive.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "examples")]

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from train import Transformer, batch  # noqa: E402

from kernel_pytorch.backends import get_backend  # noqa: E402
from kernel_pytorch.backends.amd import AMDOptimizer  # noqa: E402
from kernel_pytorch.core.config import AMDConfig  # noqa: E402

LEVELS = ("conservative", "balanced", "aggressive")
ROUNDS = 30
SAMPLE_S = 0.01
STEPS, CHUNK = 200, 4
PACE_ROUNDS, PACE_CHUNK = 150, 2


class Residual(nn.Module):
    """Two convolutions with batch norms, and what came in."""

    def __init__(self, width: int, out: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, out, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(out), nn.BatchNorm2d(out)
        self.short = nn.Sequential(nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = functional.relu(self.norm1(self.first(x)))
        return functional.relu(self.norm2(self.second(y)) + self.short(x))


def conv_net() -> nn.Module:
    sizes = [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    net = nn.Sequential(*stem, *(Residual(*size) for size in sizes), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.2)
            module.running_var.uniform_(0.5, 1.5)
    return net


class HandWrittenBlock(nn.Module):
    """Attention, RMS norm and a gated layer as people write them by hand."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.weight1, self.weight2 = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = nn.Linear(width, 4 * width, bias=False), nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def norm(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(x, self.weight1)
        q, k, v = self.split(self.q(h)), self.split(self.k(h)), self.split(self.v(h))
        scores = q @ k.transpose(-2, -1) / (q.shape[-1] ** 0.5)
        keep = torch.tril(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device))
        weights = torch.softmax(scores.masked_fill(~keep, float("-inf")).float(), dim=-1).to(q.dtype)
        x = x + self.o((weights @ v).transpose(1, 2).reshape(x.shape))
        h = self.norm(x, self.weight2)
        return x + self.down(functional.silu(self.gate(h)) * self.up(h))


def hand_written() -> nn.Module:
    return nn.Sequential(nn.Embedding(1024, 512), *(HandWrittenBlock(512, 8) for _ in range(6)), nn.Linear(512, 1024))


def images(rows: int) -> torch.Tensor:
    return torch.randn(rows, 3, 224, 224, device="cuda", dtype=torch.bfloat16)


def tokens(rows: int, length: int, vocabulary: int) -> torch.Tensor:
    return torch.randint(vocabulary, (rows, length), device="cuda")


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], torch.Tensor]]] = {
    "transformer 6x512, 8x256 tokens": (lambda: Transformer(512, 6, 256), lambda: tokens(8, 256, 64)),
    "conv net with batch norms, 16x224x224": (conv_net, lambda: images(16)),
    "hand-written attention 6x512, 4x256": (hand_written, lambda: tokens(4, 256, 1024)),
}


def interval(values: list[float]) -> tuple[float, float, float]:
    """The median and its 95 % interval by bootstrap."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(2000))
    return statistics.median(values), medians[50], medians[1949]


def ratio(theirs: list[float], ours: list[float]) -> dict[str, Any]:
    """How many times faster ours is, from paired samples."""
    middle, low, high = interval([t / o for t, o in zip(theirs, ours, strict=True)])
    verdict = "faster" if low > 1 else "slower" if high < 1 else "same"
    return {"ratio": middle, "low": low, "high": high, "verdict": verdict}


def in_words(found: dict[str, Any]) -> str:
    return f"{found['ratio']:.3f}x [{found['low']:.3f}, {found['high']:.3f}] {found['verdict']}"


def seconds_of(call: Callable[[], Any], times: int) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(times):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / times


def interleaved(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Samples of every call, in turn; the order moves on by one each round."""
    times = {}
    for name, call in calls.items():
        seconds_of(call, 5)
        times[name] = max(1, min(200, int(SAMPLE_S / seconds_of(call, 5))))
    samples: dict[str, list[float]] = {name: [] for name in calls}
    draw = random.Random(1)
    for _ in range(rounds):
        for name in draw.sample(list(calls), len(calls)):
            samples[name].append(seconds_of(calls[name], times[name]))
    return samples


def inference(name: str, levels: tuple[str, ...], search: bool) -> dict[str, Any]:
    make, example_of = MODELS[name]
    torch.manual_seed(0)
    example = example_of()
    original = get_backend(config=AMDConfig(default_precision="bf16")).prepare_model(make().eval())
    variants: dict[str, Any] = {"eager": original, "torch.compile": torch.compile(copy.deepcopy(original))}
    took: dict[str, float] = {}
    applied: dict[str, Any] = {}
    with torch.no_grad():
        start = time.perf_counter()
        variants["torch.compile"](example)
        took["torch.compile"] = time.perf_counter() - start
        for level in levels:
            start = time.perf_counter()
            optimizer = AMDOptimizer()
            variants[level] = optimizer.optimize(
                copy.deepcopy(original), level, example, compile=None if search else "default"
            )
            took[level] = time.perf_counter() - start
            summary = optimizer.get_optimization_summary()
            applied[level] = {
                "applied": [f"{item['name']}: {item['effect']}" for item in summary["optimizations_applied"]],
                "undone": [f"{item['name']}: {item['reason']}" for item in summary["optimizations_undone"]],
            }
        reference = original(example).float()
        largest = reference.abs().max().item()
        differences = {
            key: (model(example).float() - reference).abs().max().item() / largest for key, model in variants.items()
        }
        calls = {key: partial(model, example) for key, model in variants.items()}
        samples = interleaved(calls, ROUNDS)
    print(f"\n{name}")
    rows = {}
    for key, values in samples.items():
        middle, low, high = (1e3 * value for value in interval(values))
        against = {other: ratio(samples[other], values) for other in ("eager", "torch.compile") if other != key}
        rows[key] = {"ms": middle, "low": low, "high": high, "against": against, "difference": differences[key]}
        words = "; ".join(f"{other} {in_words(found)}" for other, found in against.items())
        made = f"  made in {took[key]:.0f} s" if key in took else ""
        print(f"  {key:<14}{middle:8.3f} ms [{low:.3f}, {high:.3f}]  {words}  differs {differences[key]:.1e}{made}")
    for level, what in applied.items():
        for line in what["applied"]:
            print(f"    {level} + {line}")
        for line in what["undone"]:
            print(f"    {level} - {line}")
    sys.stdout.flush()
    return {"rows": rows, "applied": applied, "made_s": took}


def stepper(model: Any, data: list[torch.Tensor], autocast: bool) -> Callable[[int], torch.Tensor]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)

    def step(number: int) -> torch.Tensor:
        rows = data[number]
        optimizer.zero_grad()
        if autocast:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                logits = model(rows[:, :-1])
        else:
            logits = model(rows[:, :-1])
        loss = functional.cross_entropy(logits.float().flatten(0, 1), rows[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def training() -> dict[str, Any]:
    generator = torch.Generator().manual_seed(1)
    data = [batch(32, 256, generator).cuda() for _ in range(STEPS)]
    torch.manual_seed(0)
    plain = Transformer(512, 6, 256)
    backend = get_backend(config=AMDConfig(default_precision="bf16"))
    prepared = backend.prepare_model(copy.deepcopy(plain))
    optimized = backend.prepare_model(copy.deepcopy(plain))
    start = time.perf_counter()
    optimizer = AMDOptimizer()
    optimizer.optimize(optimized, "balanced", data[0][:, :-1])
    took = time.perf_counter() - start
    plain.cuda()
    twin = copy.deepcopy(plain)
    models = {"plain": plain, "plain again": twin, "prepared": prepared, "optimised": optimized}
    steps = {name: stepper(model, data, name.startswith("plain")) for name, model in models.items()}
    losses: dict[str, list[torch.Tensor]] = {name: [] for name in models}
    samples: dict[str, list[float]] = {name: [] for name in models}
    names = list(models)
    draw = random.Random(1)
    for chunk in range(STEPS // CHUNK):
        for name in draw.sample(names, len(names)):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for number in range(chunk * CHUNK, (chunk + 1) * CHUNK):
                losses[name].append(steps[name](number))
            torch.cuda.synchronize()
            samples[name].append((time.perf_counter() - start) / CHUNK)
    for number in range(PACE_ROUNDS):  # the loss is known; more samples for the time alone
        for name in draw.sample(names, len(names)):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for step in range(PACE_CHUNK):
                steps[name]((PACE_CHUNK * number + step) % STEPS)
            torch.cuda.synchronize()
            samples[name].append((time.perf_counter() - start) / PACE_CHUNK)
    curves = {name: torch.stack(values).float().cpu() for name, values in losses.items()}
    print(f"\ntraining, {STEPS} steps of 32x256 tokens; optimised in {took:.0f} s")
    rows = {}
    both = [(one + other) / 2 for one, other in zip(samples["plain"], samples["plain again"], strict=True)]
    for name in names:
        middle, low, high = (1e3 * value for value in interval(samples[name][2:]))
        found = ratio(both[2:], samples[name][2:])
        worst = (curves[name] - curves["plain"]).abs().max().item()
        end = curves[name][-1].item()
        rows[name] = {"ms": middle, "low": low, "high": high, "against_plain": found, "loss": end, "difference": worst}
        print(
            f"  {name:<12}{middle:8.3f} ms [{low:.3f}, {high:.3f}]  plain {in_words(found)}  loss "
            f"{curves[name][0]:.4f} -> {end:.4f}, largest difference {worst:.4f}"
        )
    for item in optimizer.get_optimization_summary()["optimizations_applied"]:
        print(f"    + {item['name']}: {item['effect']}")
    sys.stdout.flush()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", choices=("inference", "training"))
    parser.add_argument("--levels", nargs="*", default=LEVELS, choices=LEVELS)
    parser.add_argument("--no-search", action="store_true")
    parser.add_argument("--models", nargs="*", default=[""], help="parts of the models' names")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        print("not run: this needs a GPU and a torch built for it", file=sys.stderr)
        return 2
    # Several copies of one model are compiled in this process, which is not what a program does.
    torch._dynamo.config.recompile_limit = 256
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    result: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    slower = []
    if args.only != "inference":
        result["training"] = training()
        slower += [
            f"training, {n}" for n in ("prepared", "optimised") if _is_slower(result["training"][n]["against_plain"])
        ]
    if args.only != "training":
        result["inference"] = {}
        for name in MODELS:
            if any(part in name for part in args.models):
                found = inference(name, tuple(args.levels), not args.no_search)
                result["inference"][name] = found
                top = found["rows"].get("aggressive") or found["rows"].get("balanced")
                if top is not None and any(_is_slower(other) for other in top["against"].values()):
                    slower.append(name)
    if args.json is not None:
        args.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    print(f"\nslower than plain torch: {', '.join(slower) or 'none'}")
    return 1 if slower else 0


def _is_slower(found: dict[str, Any]) -> bool:
    return str(found["verdict"]) == "slower"


if __name__ == "__main__":
    sys.exit(main())
