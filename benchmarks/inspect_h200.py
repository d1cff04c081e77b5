#!/usr/bin/env python3
"""Is `kpt inspect` right? Predicts for sm_90 without a GPU, runs the same models on an H200, and compares.

    python benchmarks/inspect_h200.py predict predicted.json         anywhere, with the GPU machine's version of torch
    python benchmarks/inspect_h200.py measure measured.json          on the H200
    python benchmarks/inspect_h200.py compare predicted.json measured.json [scatter.png]

--held-out after the first two takes four models that nothing was fitted on (inspect_held_out.py).
Compared are the generated kernels (by the hash of their source) and the time of each, profiled on the H200.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

MODELS = {
    "inspect_models": ("convnet", "bert", "vit", "dit", "decoder"),
    "inspect_held_out": ("mixer", "unet", "relative_bias", "mobile"),
}
HERE = Path(__file__).resolve().parent
MEASURE_LIMIT_S = 95.0


def predict(path: Path, module: str) -> None:
    """The prediction, without a GPU."""
    from kernel_pytorch.core.findings import to_plain
    from kernel_pytorch.core.hardware import gpu_by_alias
    from kernel_pytorch.perf.inspect.inspection import inspect_one

    found: dict[str, Any] = {}
    for model in MODELS[module]:
        view = inspect_one(f"{HERE / module}.py:{model}", gpu_by_alias("h200"), False, "first")
        found[model] = to_plain(view)
        print(f"{model}: {len(view.kernels)} kernels, {view.failure or 'no failure'}", file=sys.stderr)
        path.write_text(json.dumps(found), encoding="utf-8")


def measure(path: Path, module: str) -> None:
    """What Inductor really generates on this GPU, and what each kernel takes."""
    import torch
    from torch._inductor.async_compile import AsyncCompile

    sys.path.insert(0, str(HERE))
    models = importlib.import_module(module)
    began = time.perf_counter()
    sources: dict[str, str] = {}
    original = AsyncCompile.triton

    def triton(self: Any, kernel_name: str, source_code: str, device_str: str = "cuda") -> Any:
        sources[kernel_name] = source_code
        return original(self, kernel_name, source_code, device_str)

    AsyncCompile.triton = triton
    found: dict[str, Any] = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "models": {}}
    for model_name in MODELS[module]:
        if time.perf_counter() - began > MEASURE_LIMIT_S:
            print(f"{model_name}: not measured, out of time", file=sys.stderr)
            continue
        sources.clear()
        torch._dynamo.reset()
        with torch.device("cuda"):
            model, inputs = getattr(models, model_name)()
        with torch.no_grad():
            found["models"][model_name] = _measured(torch, torch.compile(model), inputs, sources)
        del model, inputs
        torch.cuda.empty_cache()
        print(f"{model_name}: {len(sources)} kernels, {time.perf_counter() - began:.0f} s", file=sys.stderr)
        path.write_text(json.dumps(found), encoding="utf-8")


def _measured(torch: Any, compiled: Any, inputs: tuple[Any, ...], sources: dict[str, str], steps: int = 10) -> Any:
    for _ in range(5):
        compiled(*inputs)
    torch.cuda.synchronize()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(steps):
        compiled(*inputs)
    end.record()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(steps):
            compiled(*inputs)
        torch.cuda.synchronize()
    kernels: dict[str, list[float]] = {}
    for event in profiler.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            kernels.setdefault(event.name, []).append(event.device_time)
    return {
        "step_us": start.elapsed_time(end) * 1e3 / steps,
        "kernels": {
            name: {"median_us": statistics.median(times), "count": len(times) / steps}
            for name, times in kernels.items()
        },
        "sources": dict(sources),
    }


def compare(predicted_path: Path, measured_path: Path, picture: Path | None) -> None:
    """Prints the comparison; draws a scatter plot where asked."""
    from kernel_pytorch.perf.inspect.describe import source_hash

    predicted = json.loads(predicted_path.read_text(encoding="utf-8"))
    measured = json.loads(measured_path.read_text(encoding="utf-8"))
    points: list[tuple[str, str, float, float, float]] = []
    same = listed = 0
    for model, there in measured["models"].items():
        here = predicted[model]
        if here["failure"]:
            print(f"{model}: not predicted: {here['failure'].splitlines()[-1]}")
            continue
        hashes = {kernel["source_hash"] for kernel in here["kernels"]}
        really = {name: source_hash(text) for name, text in there["sources"].items()}
        equal = [name for name, value in really.items() if value in hashes]
        same, listed = same + len(equal), listed + len(really)
        print(
            f"{model}: {len(equal)} of {len(really)} generated kernels have the predicted source, "
            f"{len(here['kernels'])} predicted; step {there['step_us']:.0f} us, "
            f"predicted roofline {here['total_best_us']:.0f} us, expected {here['total_expected_us']:.0f} us"
        )
        times = {step["name"]: step for step in here["steps"] if step["kind"] == "triton"}
        for name, found in there["kernels"].items():
            step = times.get(name)
            if step and step["best_us"] is not None:
                points.append((model, name, step["best_us"], step["expected_us"], found["median_us"]))
    print(f"all: {same} of {listed} generated kernels as predicted (torch {measured['torch']}, {measured['gpu']})")
    if not points:
        return
    ratios = sorted(expected / real for _, _, _, expected, real in points)
    print(f"expected / measured over {len(points)} kernels: median {statistics.median(ratios):.2f}, "
          f"{ratios[0]:.2f} to {ratios[-1]:.2f}; within a factor of 1.5: "
          f"{sum(1 / 1.5 <= ratio <= 1.5 for ratio in ratios)}")  # fmt: skip
    worst = sorted(points, key=lambda one: -abs(one[3] / one[4] - 1))[:6]
    for model, name, best, expected, real in worst:
        print(f"  {model} {name}: roofline {best:.1f}, expected {expected:.1f}, measured {real:.1f} us")
    if picture is not None:
        _plot(points, picture)


def _plot(points: list[tuple[str, str, float, float, float]], picture: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 5))
    axes.loglog([one[4] for one in points], [one[3] for one in points], "o", markersize=4)
    ends = [min(one[4] for one in points), max(one[4] for one in points)]
    axes.loglog(ends, ends, "-", linewidth=1)
    axes.set_xlabel("measured on the H200, us")
    axes.set_ylabel("expected, us")
    figure.tight_layout()
    figure.savefig(picture, dpi=120)


def main() -> int:
    """The command line."""
    words = [word for word in sys.argv[1:] if word != "--held-out"]
    verb, paths = words[0] if words else "", [Path(text) for text in words[1:]]
    module = "inspect_held_out" if "--held-out" in sys.argv else "inspect_models"
    if verb == "predict" and len(paths) == 1:
        predict(paths[0], module)
    elif verb == "measure" and len(paths) == 1:
        measure(paths[0], module)
    elif verb == "compare" and len(paths) in (2, 3):
        compare(paths[0], paths[1], paths[2] if len(paths) == 3 else None)
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
