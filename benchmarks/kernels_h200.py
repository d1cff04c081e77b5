#!/usr/bin/env python3
"""The Triton kernels against eager torch, torch.compile and Liger-Kernel, at Liger's published shapes.

    python benchmarks/kernels_h200.py [--json FILE] [--liger DIRECTORY] [--seconds N]     the table of docs/kernels.md
    python benchmarks/kernels_h200.py --check                                              numbers against fp64
    python benchmarks/kernels_h200.py --gates [--json FILE]                                from which size they pay
    python benchmarks/kernels_h200.py --tune [--json FILE]                                 launches side by side

Times are those of the GPU: calls over several sets of tensors, together larger than the caches, are recorded as one
graph, and the graphs of all candidates are replayed in turn; the median counts. Bytes are those that must move at least
(each input once, each output once), per cent are of a large copy in the same run. --liger is a copy of Liger-Kernel's
`src`; without it that column stays empty. --gates times wall clock per call instead, launches included.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

import torch  # noqa: E402
import torch._functorch.config  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from kernel_pytorch.models import kernels  # noqa: E402
from kernel_pytorch.models.kernels import (  # noqa: E402
    gated,
    launch,
    norms,
    plain,
    rotary,
)
from kernel_pytorch.models.kernels.launch import Launch  # noqa: E402

BF16, FP32 = torch.bfloat16, torch.float32
CACHES = 192 << 20  # more than twice the L2 of an H200
ROUNDS = 15
Sets = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """One operator at one shape. `passes`: tensors of this size moved by a forward and by a backward pass."""

    op: str
    rows: int
    width: int
    dtype: Any
    published: str
    large: bool
    compiles: bool = True

    @property
    def label(self) -> str:
        return f"{self.op} {self.rows}x{self.width} {str(self.dtype).removeprefix('torch.')}"


CASES = (
    Case("rms_norm", 32768, 4096, BF16, "Llama-3-8B, T=32768", True),
    Case("add_rms_norm", 32768, 4096, BF16, "Llama-3-8B, T=32768", True),
    Case("layer_norm", 32768, 4096, BF16, "width 4096", True),
    Case("silu_mul", 32768, 11008, BF16, "B=4, T=8192, 11008", True),
    Case("gelu_mul", 32768, 11008, BF16, "B=8, T=4096, 11008", True),
    Case("rope", 16384, 8192, BF16, "T=16384, hidden 8192", True),
    Case("add_layer_norm", 32768, 4096, BF16, "width 4096", True),
    Case("layer_norm", 4096, 8192, FP32, "M=4096, N=8192", True, False),
    Case("add_rms_norm", 2048, 16384, FP32, "M=2048, H=16384", True, False),
    Case("rms_norm", 16384, 8192, BF16, "Llama-3-70B width", True, False),
    Case("layer_norm", 4096, 16384, FP32, "M=4096, N=16384", True, False),
    Case("gelu_erf_mul", 32768, 11008, BF16, "B=8, T=4096, 11008", True, False),
    Case("rms_norm", 2048, 16384, BF16, "M=2048, H=16384", False, False),
    Case("silu_mul", 4096, 11008, BF16, "B=4, T=1024, 11008", False, False),
    Case("rope", 2048, 8192, BF16, "T=2048, hidden 8192", False, False),
)
HEADS, KEY_HEADS = 32, 8


def sizes(case: Case) -> tuple[int, int]:
    """Bytes that a forward and a backward pass must move."""
    one = case.rows * case.width * case.dtype.itemsize
    if case.op == "rope":
        both = one * (HEADS + KEY_HEADS) // HEADS
        return 2 * both, 2 * both
    passes = {"rms_norm": (2, 3), "layer_norm": (2, 3), "add_rms_norm": (4, 4), "add_layer_norm": (4, 4)}
    forward, backward = passes.get(case.op, (3, 5))
    return forward * one, backward * one


def inputs(case: Case) -> tuple[Any, ...]:
    """Fresh tensors of a case; the first ones ask for gradients."""

    def tensor(*shape: int) -> Any:
        return torch.randn(shape, device="cuda", dtype=case.dtype).requires_grad_()

    shape = (case.rows, case.width)
    if case.op == "rope":
        width = case.width // HEADS
        q, k = (tensor(1, case.rows, heads, width).detach().transpose(1, 2) for heads in (HEADS, KEY_HEADS))
        angles = torch.arange(case.rows, device="cuda")[:, None] * 1e4 ** -torch.linspace(0, 1, width // 2).cuda()
        table = torch.cat((angles, angles), dim=-1)[None]
        return q.requires_grad_(), k.requires_grad_(), table.cos().to(case.dtype), table.sin().to(case.dtype)
    if case.op.endswith("_mul"):
        return tensor(*shape), tensor(*shape)
    weight, bias = (tensor(case.width) for _ in range(2))
    first = (tensor(*shape),) if not case.op.startswith("add") else (tensor(*shape), tensor(*shape))
    return (*first, weight, bias) if "layer" in case.op else (*first, weight)


class LlamaNorm(nn.Module):
    """As Hugging Face writes it."""

    def forward(self, x: Any, weight: Any) -> Any:
        wide = x.to(FP32)
        return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def turned(x: Any) -> Any:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def eager(op: str) -> Callable[..., Any]:
    """The operator in torch's own operations, as models have it."""
    norm = LlamaNorm()
    table: dict[str, Callable[..., Any]] = {
        "rms_norm": norm,
        "add_rms_norm": lambda x, r, w: (norm(x + r, w), x + r),
        "layer_norm": lambda x, w, b: functional.layer_norm(x, x.shape[-1:], w, b),
        "silu_mul": lambda a, b: functional.silu(a) * b,
        "gelu_mul": lambda a, b: functional.gelu(a, approximate="tanh") * b,
        "gelu_erf_mul": lambda a, b: functional.gelu(a) * b,
        "rope": lambda q, k, c, s: tuple(x * c.unsqueeze(1) + turned(x) * s.unsqueeze(1) for x in (q, k)),
    }

    def add_norm(x: Any, r: Any, w: Any) -> Any:
        h = x + r
        return norm(h, w), h

    def add_layer(x: Any, r: Any, w: Any, b: Any) -> Any:
        h = x + r
        return functional.layer_norm(h, h.shape[-1:], w, b), h

    return {**table, "add_rms_norm": add_norm, "add_layer_norm": add_layer}[op]


def ours(op: str, force: bool = True) -> Callable[..., Any]:
    """The same by our kernels."""
    table: dict[str, Callable[..., Any]] = {
        "rms_norm": lambda x, w: kernels.rms_norm(x, w, round_first=True, force=force),
        "add_rms_norm": lambda x, r, w: kernels.add_rms_norm(x, r, w, round_first=True, force=force),
        "layer_norm": lambda x, w, b: kernels.layer_norm(x, w, b, force=force),
        "add_layer_norm": lambda x, r, w, b: kernels.add_layer_norm(x, r, w, b, force=force),
        "silu_mul": lambda a, b: kernels.silu_mul(a, b, force=force),
        "gelu_mul": lambda a, b: kernels.gelu_mul(a, b, "tanh", force=force),
        "gelu_erf_mul": lambda a, b: kernels.gelu_mul(a, b, force=force),
        "rope": lambda q, k, c, s: kernels.rope(q, k, c, s, force=force),
    }
    return table[op]


def liger(op: str) -> Callable[..., Any] | None:
    """The same by Liger-Kernel, where it is there and has it."""
    try:
        from liger_kernel.ops.fused_add_rms_norm import LigerFusedAddRMSNormFunction
        from liger_kernel.ops.geglu import LigerGELUMulFunction
        from liger_kernel.ops.layer_norm import LigerLayerNormFunction
        from liger_kernel.ops.rms_norm import LigerRMSNormFunction
        from liger_kernel.ops.rope import LigerRopeFunction
        from liger_kernel.ops.swiglu import LigerSiLUMulFunction
    except ImportError:
        return None
    table: dict[str, Callable[..., Any]] = {
        "rms_norm": lambda x, w: LigerRMSNormFunction.apply(x, w, 1e-6),
        "add_rms_norm": lambda x, r, w: LigerFusedAddRMSNormFunction.apply(x, r, w, 1e-6, 0.0, "llama", False),
        "layer_norm": lambda x, w, b: LigerLayerNormFunction.apply(x, w, b, 1e-5),
        "silu_mul": LigerSiLUMulFunction.apply,
        "gelu_mul": LigerGELUMulFunction.apply,
        "rope": LigerRopeFunction.apply,
    }
    return table.get(op)


def recorded(call: Callable[[int], Any], count: int) -> Any:
    """`count` calls as one graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for index in range(count):
            call(index)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for index in range(count):
            call(index)
    return graph


def forward_graph(function: Callable[..., Any], sets: Sets) -> Any:
    with torch.no_grad():
        return recorded(lambda index: function(*sets[index]), len(sets))


def backward_graph(function: Callable[..., Any], sets: Sets) -> Any:
    """Backward passes alone; the forward passes lie before the recording, on its stream."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    prepared = []
    with torch.cuda.stream(stream):
        for values in sets:
            wanted = [item for item in values if item.requires_grad]
            outs = function(*values)
            outs = [item for item in (outs if isinstance(outs, tuple) else (outs,)) if item.requires_grad]
            prepared.append((outs, wanted, [torch.randn_like(item) for item in outs]))
        for item in prepared:
            torch.autograd.grad(*item, retain_graph=True)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for item in prepared:
            torch.autograd.grad(*item, retain_graph=True)
    return graph, prepared


def medians(graphs: dict[str, Any], calls: int, rounds: int = ROUNDS) -> dict[str, float]:
    """Milliseconds of one call of each, replayed in turn in a new order each round."""
    samples: dict[str, list[float]] = {name: [] for name in graphs}
    for name in graphs:
        graphs[name].replay()
    names = list(graphs)
    for _ in range(rounds):
        random.shuffle(names)
        for name in names:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graphs[name].replay()
            end.record()
            end.synchronize()
            samples[name].append(start.elapsed_time(end) / calls)
    return {name: statistics.median(values) for name, values in samples.items()}


def copy_bandwidth() -> float:
    """GB/s of a large copy, read and written bytes: the faster of torch's copy and of a kernel that reads and writes.

    Not recorded: as a node of a graph, the driver's copy was a third slower on an H200."""
    source = torch.randn(1 << 28, device="cuda", dtype=FP32)
    target = torch.empty_like(source)
    found = []
    for call in (lambda: target.copy_(source), lambda: torch.mul(source, 2.0, out=target)):
        samples = []
        for _ in range(12):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(4):
                call()
            end.record()
            end.synchronize()
            samples.append(start.elapsed_time(end) / 4)
        found.append(2 * source.numel() * 4 / statistics.median(samples[2:]) / 1e6)
    print(f"copy {found[0]:.0f} GB/s, by a kernel {found[1]:.0f} GB/s")
    return max(found)


def in_children(arguments: list[list[str]]) -> bool:
    """Run this script once for each list, all at a time: compiling is most of the work and lands in caches on disk."""
    environment = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    command = [sys.executable, __file__]
    running = [
        subprocess.Popen(
            [*command, *more], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for more in arguments
    ]
    good = True
    for child, more in zip(running, arguments, strict=True):
        text, _ = child.communicate()
        if child.returncode:
            good = False
            print(f"{' '.join(more)}: {text.strip()[-600:]}", file=sys.stderr)
        elif "check" in text:
            print(text.strip().splitlines()[-1])
    return good


def set_count(case: Case) -> int:
    return max(3, min(-(-CACHES // sizes(case)[0]), 24))


def measured(case: Case, compile_too: bool, count: int = 0, rounds: int = ROUNDS) -> dict[str, dict[str, float]]:
    """Milliseconds by direction and candidate."""
    candidates: dict[str, Callable[..., Any]] = {"eager": eager(case.op), "ours": ours(case.op)}
    if compile_too and case.compiles:
        candidates["compile"] = torch.compile(eager(case.op), dynamic=False, fullgraph=True)
    other = liger(case.op)
    if other is not None:
        candidates["liger"] = other
    found: dict[str, dict[str, float]] = {}
    count = count or set_count(case)
    for direction in ("forward", "backward"):
        graphs, held = {}, []
        for name, function in candidates.items():
            # Liger writes into its inputs: each candidate has its own.
            sets = [inputs(case) for _ in range(count)]
            try:
                if direction == "forward":
                    graphs[name] = forward_graph(function, sets)
                else:
                    graphs[name], prepared = backward_graph(function, sets)
                    held.append(prepared)
                held.append(sets)
            except Exception as error:  # one candidate's failure is a hole in the table, not its end
                print(f"{case.label} {direction} {name}: {type(error).__name__}: {error}"[:300], file=sys.stderr)
                torch.cuda.synchronize()
        found[direction] = medians(graphs, count, rounds)
        del graphs, held
        torch.cuda.empty_cache()
    return found


def table(options: argparse.Namespace) -> dict[str, Any]:
    """The table of all cases."""
    began = time.perf_counter()
    more = ["--liger", str(options.liger)] if options.liger else []
    if options.no_compile:
        more.append("--no-compile")
    in_children([["--compile-case", str(index), *more] for index in range(len(CASES))])
    print(f"compiled after {time.perf_counter() - began:.0f} s", flush=True)
    copy = copy_bandwidth()
    result: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "copy_gbs": copy}
    rows: list[dict[str, Any]] = []
    result["cases"] = rows
    for case in sorted(CASES, key=lambda case: not case.large):
        if time.perf_counter() - began > options.seconds:
            print(f"{case.label}: not measured, out of time", file=sys.stderr)
            continue
        torch._dynamo.reset()
        times = measured(case, not options.no_compile)
        row = {"case": case.label, "published": case.published, "large": case.large, "ms": times}
        rows.append(row)
        for (direction, by_name), size in zip(times.items(), sizes(case), strict=True):
            shown = "  ".join(
                f"{name} {ms * 1e3:7.1f} us {100 * size / ms / 1e6 / copy:5.1f} %" for name, ms in by_name.items()
            )
            print(f"{case.label:34s} {direction:8s} {shown}", flush=True)
        if options.json:
            options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    return result


def gates(options: argparse.Namespace) -> dict[str, Any]:
    """Wall clock of one call in a stream of calls, launches included, by size: where the kernels begin to pay."""
    found: dict[str, Any] = {}
    for op in ("rms_norm", "add_rms_norm", "layer_norm", "add_layer_norm", "silu_mul", "gelu_mul", "rope"):
        found[op] = {}
        for rows in (16, 128, 512, 2048, 8192):
            case = Case(op, rows, 8192 if op == "rope" else 4096, BF16, "", False)
            values = inputs(case)
            line = {}
            for training in (False, True):
                calls = {"torch": eager(op), "ours": ours(op)}
                line["training" if training else "inference"] = wall(calls, values, training)
            found[op][rows * case.width * 2] = line
            print(op, f"{rows * case.width * 2 / 2**20:.2f} MiB", line, flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return found


def wall(calls: dict[str, Callable[..., Any]], values: tuple[Any, ...], training: bool) -> dict[str, float]:
    wanted = [item for item in values if item.requires_grad]
    gradients: list[Any] = []

    def step(function: Callable[..., Any]) -> None:
        with torch.set_grad_enabled(training):
            outs = function(*values)
            outs = list(outs) if isinstance(outs, tuple) else [outs]
            if training:
                if not gradients:
                    gradients.extend(torch.randn_like(item) for item in outs)
                torch.autograd.grad(outs, wanted, gradients)

    samples: dict[str, list[float]] = {name: [] for name in calls}
    for function in calls.values():
        for _ in range(3):
            step(function)
    for _ in range(9):
        for name, function in calls.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(8):
                step(function)
            torch.cuda.synchronize()
            samples[name].append((time.perf_counter() - start) / 8 * 1e6)
    return {name: round(statistics.median(values), 1) for name, values in samples.items()}


OPERATORS = tuple(dict.fromkeys(case.op for case in CASES))
CHECKED = (
    (FP32, 3e-6, ((64, 4096), (33, 1000), (7, 257), (5, 16384), (3, 40000), (300, 64))),
    (BF16, 1.5e-2, ((64, 4096), (7, 257))),
    (torch.float16, 2e-3, ((33, 1000),)),
)


def check(op: str) -> int:
    """One operator, forward and backward, against fp64 on this GPU. Odd sizes and long rows among them."""
    worst, failed = 0.0, []
    torch.manual_seed(0)
    for dtype, limit, shapes in CHECKED:
        for rows, width in ((37, 2048), (64, 96 * HEADS)) if op == "rope" else shapes:
            error = _error(ours(op), exact(op), inputs(Case(op, rows, width, dtype, "", False))) / limit
            worst = max(worst, error)
            if not error < 1:
                failed.append((str(dtype), rows, width, round(error, 2)))
    print(f"check {op}: worst {worst:.2f} of the limit {failed or ''}")
    return 1 if failed else 0


def exact(op: str) -> Callable[..., Any]:
    def norm(x: Any, weight: Any) -> Any:
        return plain.norm_forward(x, None, weight, None, 1e-6, 0.0, center=False, round_first=False)[0]

    if op == "rms_norm":
        return norm
    if op == "add_rms_norm":
        return lambda x, r, w: (norm(x + r, w), x + r)
    return eager(op)


def _error(function: Callable[..., Any], reference: Callable[..., Any], values: tuple[Any, ...]) -> float:
    wide = tuple(item.detach().double().requires_grad_(item.requires_grad) for item in values)
    results = []
    for call, given in ((function, values), (reference, wide)):
        outs = call(*given)
        outs = list(outs) if isinstance(outs, tuple) else [outs]
        torch.manual_seed(1)
        # Drawn in bf16, so that both sides get the same.
        gradients = [torch.randn(item.shape, device="cuda", dtype=BF16).to(item.dtype) for item in outs]
        wanted = [item for item in given if item.requires_grad]
        found = [*outs, *torch.autograd.grad(outs, wanted, gradients)]
        results.append([item.detach() for item in found])
    return max(
        float((got.double() - want).norm() / want.norm().clamp_min(1e-30)) for got, want in zip(*results, strict=True)
    )


def tune(options: argparse.Namespace) -> dict[str, Any]:
    """Launches side by side, a line for each case, the fastest first."""
    began = time.perf_counter()
    in_children([["--compile-part", str(index), "--only", options.only] for index in range(PARTS)])
    print(f"compiled after {time.perf_counter() - began:.0f} s", flush=True)
    copy = copy_bandwidth()
    found: dict[str, Any] = {"copy_gbs": copy}
    for label, size, sets, calls in _plans():
        if options.only not in label:
            continue
        if time.perf_counter() - began > options.seconds:
            print("out of time", file=sys.stderr)
            break
        graphs: dict[str, Any] = {}
        for name, call in calls.items():
            try:
                graphs[name] = recorded(lambda index, call=call, sets=sets: call(*sets[index]), len(sets))
            except Exception as error:
                print(f"{label} {name}: {error}"[:200], file=sys.stderr)
        times = medians(graphs, len(sets), 9)
        ranked = sorted(times.items(), key=lambda item: item[1])
        found[label] = {name: 100 * size / ms / 1e6 / copy for name, ms in ranked}
        print(label, " | ".join(f"{name} {100 * size / ms / 1e6 / copy:.1f}" for name, ms in ranked[:12]), flush=True)
        del graphs
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return found


PARTS = 14


def compile_part(part: int, only: str) -> None:
    """A share of what `tune` times, once, with few rows."""
    number = 0
    for label, _, sets, calls in _plans(fewer=64):
        for call in calls.values() if only in label else ():
            number += 1
            if number % PARTS == part:
                call(*sets[0])
    torch.cuda.synchronize()


def _plans(fewer: int = 1) -> Any:
    units = launch.card_of(torch.device("cuda", 0)).units
    for rows, width, dtype in ((65536, 1024, BF16), (32768, 4096, BF16), (16384, 8192, BF16), (4096, 16384, FP32)):
        size = rows * width * dtype.itemsize
        x, dy = (torch.randn(rows // fewer, width, device="cuda", dtype=dtype) for _ in range(2))
        weight = torch.randn(width, device="cuda", dtype=dtype)
        center, scale = (torch.rand(rows // fewer, device="cuda") for _ in range(2))
        sets = [(x, dy, weight, center, scale)] * 4
        block = width
        plans: dict[str, Any] = {}
        for threads in sorted({max(block // part, 32) for part in (8, 16, 32, 64)} & {32, 64, 128, 256, 512, 1024}):
            for tile in (1, 2) if block <= 1024 else (1,):
                plans[f"{tile}x{threads}"] = _forward_call(Launch(block, tile, threads))
        yield f"rms forward {rows}x{width} {dtype}", 2 * size, sets, plans
        for is_layer in (False, True) if width > 1024 else (False,):
            plans = {}
            for threads in sorted({block // part for part in (8, 16, 32)} & {64, 128, 256, 512, 1024}):
                for tile in (1, 2) if block <= 1024 else (1,):
                    for prefetch, hold in ((False, False), (True, False), (True, True)):
                        if hold and width > 8192:
                            continue
                        for per_unit in (1, 2, 4, 8):
                            if per_unit * threads <= 1536:
                                chosen = Launch(block, tile, threads, units * per_unit, prefetch, hold)
                                name = f"{tile}x{threads}*{per_unit}{' pre' * prefetch}{' hold' * hold}"
                                plans[name] = _backward_call(chosen, is_layer)
            yield f"{'layer' if is_layer else 'rms'} backward {rows}x{width} {dtype}", 3 * size, sets, plans
    rows, width = 32768, 11008
    size = rows * width * 2
    sets = [tuple(torch.randn(rows // fewer, width, device="cuda", dtype=BF16) for _ in range(3))] * 3
    tiles = [(1024, 64), (1024, 128), (2048, 128), (2048, 256), (4096, 256), (4096, 512), (8192, 512)]
    for kind in ("silu", "gelu_tanh"):
        few = tiles if kind == "silu" else tiles[1:5]
        plans = {f"{b}x{t}": _gated_call(Launch(b, 1, t), kind, False) for b, t in few}
        yield f"{kind} forward", 3 * size, sets, plans
        plans = {f"{b}x{t}": _gated_call(Launch(b, 1, t), kind, True) for b, t in few}
        yield f"{kind} backward", 5 * size, sets, plans
    case = Case("rope", 16384, 8192, BF16, "", True)
    values = tuple(item.detach() for item in inputs(replace(case, rows=16384 // fewer)))
    plans = {
        f"{tile}x{threads}": _rope_call(Launch(128, tile, threads))
        for tile in (4, 8, 16, 32)
        for threads in (64, 128, 256, 512)
        if 4 <= tile * 128 // threads <= 16
    }
    yield "rope", sizes(case)[0], [values] * 4, plans


def _forward_call(chosen: Launch) -> Any:
    return lambda x, dy, w, center, scale: norms.forward(
        x, None, w, None, 1e-6, 0.0, center=False, round_first=False, chosen=chosen
    )


def _backward_call(chosen: Launch, is_layer: bool) -> Any:
    return lambda x, dy, w, center, scale: norms.backward(
        dy, None, x, center if is_layer else None, scale, w, 0.0,
        round_first=False, needs_weight=True, needs_bias=is_layer, chosen=chosen,
    )  # fmt: skip


def _gated_call(chosen: Launch, kind: str, backward: bool) -> Any:
    if backward:
        return lambda a, b, c: gated.backward(a, b, c, kind, chosen)
    return lambda a, b, c: gated.forward(a, b, kind, chosen)


def _rope_call(chosen: Launch) -> Any:
    return lambda q, k, c, s: rotary.rotate(q, k, c, s, q.shape[-1], interleaved=False, backward=False, chosen=chosen)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--liger", type=Path, help="a copy of Liger-Kernel's src")
    parser.add_argument("--seconds", type=float, default=300.0, help="begin no further case after this time")
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile: half the time")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--gates", action="store_true")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--only", default="", help="with --tune: cases whose name holds this")
    for name in ("--check-op", "--compile-case", "--compile-part"):
        parser.add_argument(name, help=argparse.SUPPRESS)  # what its own children are asked
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("a GPU is needed", file=sys.stderr)
        return 2
    if options.liger:
        sys.path.insert(0, str(options.liger))
    # Backward passes are recorded more than once.
    torch._functorch.config.donated_buffer = False
    random.seed(0)
    if options.check_op:
        return check(options.check_op)
    if options.check:
        return 0 if in_children([["--check-op", op] for op in OPERATORS]) else 1
    if options.compile_case:
        measured(CASES[int(options.compile_case)], not options.no_compile, count=1, rounds=1)
    elif options.compile_part:
        compile_part(int(options.compile_part), options.only)
    elif options.gates:
        gates(options)
    elif options.tune:
        tune(options)
    else:
        table(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
