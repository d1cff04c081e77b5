#!/usr/bin/env python3
"""One training step of three models: eager, torch.compile and `optimize()`, with the memory each takes.

    python benchmarks/training_h200.py [--only NAME ...] [--climb-seconds 300] [--skip RUNG ...] [--json FILE] [--tiny]

A step is forward, backward and AdamW, in bf16, on the same batch. The optimizer is `foreach=True`, torch's default,
with the eager model, and `fused=True` beside that and everywhere else. Ours is what a climb in train mode keeps, with
its gradients checked. Models climb side by side, each in a process of its own; the final figures are taken one model
after another, all variants in turns, when no other climbs. "Peak" is what a step takes at most beyond weights,
gradients and the optimizer's state, which are the same for all. --tiny tries the script, also on a CPU.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

import torch  # noqa: E402
from optimize_h200 import alone  # noqa: E402
from optimize_models import LLAMA_32_1B, is_tiny, sizes_of  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

SMALL = sizes_of(64, 128, 2, 4, 2, 512, head_dim=16)
EAGER, FUSED, COMPILED, OURS = "eager", "eager, fused AdamW", "torch.compile, fused AdamW", "ours, fused AdamW"


class Scored(nn.Module):
    """A model of transformers and its loss: the mean cross entropy of all its scores."""

    def __init__(self, body: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.body, self.head = body, head

    def forward(self, given: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        scores = self.head(self.body(given)[0])
        return functional.cross_entropy(scores.float().view(-1, scores.shape[-1]), labels.view(-1))


class FirstToken(nn.Module):
    """What a ViT gives its classifier."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, pictures: torch.Tensor) -> tuple[torch.Tensor]:
        return (self.body(pictures)[0][:, 0],)


def gpt2_125m(batch: int = 16, length: int = 1024) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """GPT-2 with 12 layers of 768, its own defaults but for dropout, which is off."""
    from transformers import GPT2Config, GPT2Model

    config = GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False, attn_implementation="sdpa")
    if is_tiny():
        config = GPT2Config(
            vocab_size=512, n_embd=64, n_layer=2, n_head=4, use_cache=False, resid_pdrop=0.0, embd_pdrop=0.0,
            attn_pdrop=0.0, attn_implementation="sdpa",
        )  # fmt: skip
        batch, length = 2, 32
    model = Scored(GPT2Model(config), nn.Linear(config.n_embd, config.vocab_size, bias=False))
    words = torch.randint(0, config.vocab_size, (batch, length + 1))
    return model, (words[:, :-1], words[:, 1:].contiguous())


def llama_1b(batch: int = 4, length: int = 2048) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The shape of Llama-3.2-1B: 16 layers of 2048, 128,256 words, weights of words not tied."""
    from transformers import LlamaConfig, LlamaModel

    sizes = {**LLAMA_32_1B, "tie_word_embeddings": False} if not is_tiny() else SMALL
    batch, length = (2, 32) if is_tiny() else (batch, length)
    config = LlamaConfig(**sizes, use_cache=False, max_position_embeddings=4096, attn_implementation="sdpa")
    model = Scored(LlamaModel(config), nn.Linear(config.hidden_size, config.vocab_size, bias=False))
    words = torch.randint(0, config.vocab_size, (batch, length + 1))
    return model, (words[:, :-1], words[:, 1:].contiguous())


def vit_base(batch: int = 64) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """ViT-base/16 with 1,000 classes, 224 x 224."""
    from transformers import ViTConfig, ViTModel

    tiny = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    config = ViTConfig(**({**tiny, "image_size": 32} if is_tiny() else {}), attn_implementation="sdpa")
    batch = 2 if is_tiny() else batch
    model = Scored(FirstToken(ViTModel(config, add_pooling_layer=False)), nn.Linear(config.hidden_size, 1000))
    pictures = torch.randn(batch, 3, config.image_size, config.image_size)
    return model, (pictures, torch.randint(0, 1000, (batch,)))


MODELS: dict[str, Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]] = {
    "GPT-2 125M, 16x1024": gpt2_125m,
    "Llama-3.2-1B shape, 4x2048": llama_1b,
    "ViT-base, batch 64": vit_base,
}


def placed(name: str) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A model in train mode and its batch, on the GPU in bf16 or on a CPU in fp32."""
    on_gpu = torch.cuda.is_available()
    device, dtype = ("cuda", torch.bfloat16) if on_gpu else ("cpu", torch.float32)
    torch.manual_seed(1)
    with torch.device(device):
        model, batch = MODELS[name]()
    return model.to(dtype).train(), tuple(one.to(dtype) if one.is_floating_point() else one for one in batch)


def stepping(call: Callable[..., torch.Tensor], optimizer: torch.optim.Optimizer) -> Callable[..., torch.Tensor]:
    """One step with this way to compute the loss."""

    def step(*batch: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=False)  # gradients stay where they are, as a captured step wants it
        loss = call(*batch)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def climbed(model: nn.Module, batch: tuple[torch.Tensor, ...], args: argparse.Namespace) -> Any:
    """What `optimize()` keeps; its comparisons wait for those of the other models."""
    from kernel_pytorch.perf.ladder.measuring import measure_in_turns
    from kernel_pytorch.perf.ladder.optimize import optimize

    began = time.perf_counter()

    def measure(before: Any, after: Any, seconds: float) -> Any:
        with alone(args.folder):
            return measure_in_turns(before, after, seconds)

    def say(event: Any) -> None:
        if event.entry is not None and not event.entry.reason.startswith("left out"):
            spent = time.perf_counter() - began
            print(f"  {spent:5.1f} s {event.entry.rung}: {event.entry.outcome}: {event.entry.reason[:160]}", flush=True)

    return optimize(
        model, batch, budget_s=args.climb_seconds, levels=(2, 3, 4), skip=args.skip, measure=measure, measure_s=1.5,
        say=say,
    )  # fmt: skip


def peak_mib(step: Callable[..., torch.Tensor], batch: tuple[torch.Tensor, ...]) -> float | None:
    """The most that a step takes beyond what is there before it."""
    if not torch.cuda.is_available():
        return None
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step(*batch)
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


def one_model(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """All variants of one model, measured in turns on one set of weights."""
    from kernel_pytorch.models.clock.device import current_device
    from kernel_pytorch.models.clock.rounds import Sampling
    from kernel_pytorch.models.clock.sensors import sensors_of
    from kernel_pytorch.perf.bench.run import measure
    from kernel_pytorch.perf.bench.target import Target

    model, batch = placed(name)
    ours = climbed(model, batch, args)
    usual = torch.optim.AdamW(model.parameters(), lr=1e-6, foreach=True)
    fused = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)
    ways = {
        OURS: stepping(ours, fused),
        EAGER: stepping(model, usual),
        FUSED: stepping(model, fused),
        COMPILED: stepping(torch.compile(model), fused),
    }
    for step in ways.values():
        for _ in range(3):
            step(*batch)
    (args.folder / f"{os.getpid()}.ready").touch()
    until = time.time() + args.climb_seconds + 120
    while len(list(args.folder.glob("*.ready"))) < args.processes and time.time() < until:
        time.sleep(0.2)
    device = current_device(force_cpu=not torch.cuda.is_available())
    settings = Sampling(
        seconds=args.seconds, warmup_seconds=0.5, energy_seconds=0.0, margin=0.01, least_seconds=min(2.0, args.seconds)
    )
    with alone(args.folder):
        peaks = {way: peak_mib(step, batch) for way, step in ways.items()}
        results, verdicts = measure(
            [Target(way, step, batch, {}) for way, step in ways.items()], device, sensors_of(device), settings
        )
    against = {one.b: [one.ratio, one.low, one.high] for one in verdicts if one.a == OURS}
    rows = {
        one.name: {
            "ms": one.time.mean_ms, "low": one.time.low_ms, "high": one.time.high_ms, "peak_mib": peaks[one.name],
            "against_ours": against.get(one.name),
        }
        for one in results
    }  # fmt: skip
    recipe = [step.rung for step in ours.recipe]
    return {"device": device.name, "torch": torch.__version__, "recipe": recipe, "rows": rows}


def shown(name: str, found: dict[str, Any]) -> str:
    """A table of one model."""
    lines = [f"\n{name} [{found['device']}, torch {found['torch']}]; kept: {', '.join(found['recipe']) or 'nothing'}"]
    for way, row in found["rows"].items():
        peak = f"{row['peak_mib']:9.0f} MiB" if row["peak_mib"] is not None else ""
        ratio = f"  {row['against_ours'][0]:.3f}x ours" if row["against_ours"] else ""
        lines.append(f"  {way:<28}{row['ms']:9.3f} ms [{row['low']:.3f}, {row['high']:.3f}] {peak}{ratio}")
    return "\n".join(lines)


def side_by_side(names: list[str], args: argparse.Namespace) -> dict[str, Any]:
    """A process for each model; what it prints comes when it is done."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        folder, running = Path(place), []
        for number, name in enumerate(names):
            command = [sys.executable, __file__, "--only", name, "--folder", place, "--processes", str(len(names))]
            command += ["--climb-seconds", str(args.climb_seconds), "--seconds", str(args.seconds)]
            command += ["--json", str(folder / f"{number}.json"), *(["--tiny"] if args.tiny else [])]
            command += [f"--skip={rung}" for rung in args.skip]
            log = (folder / f"{number}.log").open("w")
            environment = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "4", "PYTHONUNBUFFERED": "1"}
            running.append((name, subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)))
        for number, (name, process) in enumerate(running):
            process.wait()
            print(f"== {name}\n{(folder / f'{number}.log').read_text()}", flush=True)
            part = folder / f"{number}.json"
            if part.exists():
                found |= json.loads(part.read_text())
                if args.json:
                    args.json.write_text(json.dumps(found, indent=1))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], choices=list(MODELS))
    parser.add_argument("--climb-seconds", type=float, default=300.0)
    parser.add_argument("--skip", action="append", default=[], help="a rung to leave out; may be given again")
    parser.add_argument("--seconds", type=float, default=8.0, help="for the final figures of a model")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tiny", action="store_true", help="small sizes, also on a CPU: to try this script")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--processes", type=int, default=1, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.tiny:
        os.environ["KPT_TINY"] = "1"
    elif not torch.cuda.is_available():
        print("not run: this needs a GPU and a torch built for it (--tiny tries the script on a CPU)", file=sys.stderr)
        return 2
    names = args.only or list(MODELS)
    if args.folder is None:
        found = side_by_side(names, args)
        return 0 if len(found) == len(names) else 1
    found = {name: one_model(name, args) for name in names}
    print("\n".join(map(partial(lambda name, all_found: shown(name, all_found[name]), all_found=found), found)))
    args.json.write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
