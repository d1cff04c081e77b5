"""From what was captured to the view of one target: kernels compiled, steps timed, flags and gaps named."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.perf.expected.expected import Expected, expected_time, total
from kernel_pytorch.perf.inspect.calls import call_step
from kernel_pytorch.perf.inspect.capture import Call, Capture, GeneratedKernel, Launch
from kernel_pytorch.perf.inspect.compile_kernel import BuiltConfiguration, build_all, choose
from kernel_pytorch.perf.inspect.flags import kernel_flags, step_flags
from kernel_pytorch.perf.inspect.gaps import gap_list
from kernel_pytorch.perf.inspect.generated_work import generated_flops, generated_work
from kernel_pytorch.perf.inspect.view import EmulatedRun, LaunchStep, TargetView, TritonKernel
from kernel_pytorch.perf.roofline.work import Work

if TYPE_CHECKING:
    from triton import Config


_POINTER = re.compile(r"'(\w+)': '\*(\w+)'")


def describe(
    seen: Capture,
    gpu: GPU,
    versions: tuple[str, str],
    began: float,
    only_first: bool,
    failure: str | None,
    run: EmulatedRun | None,
) -> TargetView:
    """The view of one target."""
    compiling = time.perf_counter()
    built = {name: build_all(kernel.tuner, gpu, only_first) for name, kernel in seen.kernels.items()}
    compile_seconds = time.perf_counter() - compiling
    kernels = {name: describe_kernel(kernel, built[name], gpu) for name, kernel in seen.kernels.items()}
    found = [(step, expected_time(gpu, work) if work else None) for step, work in _steps(seen, kernels, built)]
    steps = tuple(_timed(step, expected) for step, expected in found)
    whole = total([expected for _, expected in found if expected is not None])
    flags = [flag for kernel in kernels.values() for flag in kernel_flags(kernel, gpu)]
    flags += step_flags(steps, gpu)
    return TargetView(
        gpu.target.name,
        gpu.name,
        graphs=seen.graphs,
        kernels=tuple(kernels.values()),
        steps=steps,
        breaks=tuple(seen.breaks),
        flags=tuple(flags),
        gaps=gap_list(steps, kernels, tuple(seen.breaks)),
        notes=(*seen.notes, *_notes(steps)),
        total_best_us=_total([step.best_us for step in steps]),
        total_expected_us=round(whole.us, 2) if whole else None,
        seconds=round(time.perf_counter() - began, 2),
        compile_seconds=round(compile_seconds, 2),
        torch=versions[0],
        triton=versions[1],
        failure=failure,
        run=run,
        total_low_us=round(whole.low_us, 2) if whole else None,
        total_high_us=round(whole.high_us, 2) if whole else None,
    )


def describe_kernel(kernel: GeneratedKernel, built: list[BuiltConfiguration], gpu: GPU) -> TritonKernel:
    """One generated kernel with what the compiler made of it."""
    facts = kernel.facts
    flops = generated_flops(kernel.source, facts.space) if facts and facts.space else None
    return TritonKernel(
        kernel.name,
        str(getattr(kernel.tuner.heuristic_type, "name", "")).lower(),
        source_hash=source_hash(kernel.source),
        operators=facts.operators if facts else (),
        lines=facts.lines if facts else (),
        bytes=facts.bytes if facts else None,
        flops=flops,
        dtypes=tuple(sorted({kind for _, kind in _POINTER.findall(kernel.source)})),
        configurations=tuple(one.configuration for one in built),
        chosen=choose(built, gpu),
        source=kernel.source,
    )


def source_hash(source: str) -> str:
    """Of the kernel's function alone: the decorator holds the device's properties and settings of the process."""
    body = source[source.find("@triton.jit") :]
    return hashlib.sha256(body.strip().encode()).hexdigest()[:16]


def _steps(
    seen: Capture, kernels: dict[str, TritonKernel], built: dict[str, list[BuiltConfiguration]]
) -> Iterator[tuple[LaunchStep, Work | None]]:
    for entry in seen.launches:
        if isinstance(entry, Call):
            yield call_step(entry)
        else:
            yield _launch(seen, entry, kernels, built), generated_work(kernels[entry.name])


def _launch(
    seen: Capture, entry: Launch, kernels: dict[str, TritonKernel], built: dict[str, list[BuiltConfiguration]]
) -> LaunchStep:
    kernel = kernels[entry.name]
    shapes = tuple("x".join(map(str, one.shape)) for one in entry.args if hasattr(one, "shape"))
    dtype = ",".join(kernel.dtypes)
    grid: tuple[int, ...] = ()
    if kernel.chosen is not None:
        grid = launch_grid(seen.kernels[entry.name], built[entry.name][kernel.chosen].config, entry.args)
    return LaunchStep("triton", entry.name, entry.graph, shapes, dtype, kernel.flops, kernel.bytes, grid=grid)


def launch_grid(kernel: GeneratedKernel, config: Config, args: tuple[object, ...]) -> tuple[int, ...]:
    """How many workgroups Inductor's launcher would start."""
    import torch._inductor.runtime.triton_heuristics as heuristics

    tuner = kernel.tuner
    values = dict(zip(argument_names(kernel, config), args, strict=False))
    settings = {**config.kwargs, "num_warps": config.num_warps, "num_stages": config.num_stages}
    grid = heuristics.GridExpr.from_meta(tuner.inductor_meta, config)
    return tuple(int(size) for size in grid.eval_slow({**values, **settings}))


def argument_names(kernel: GeneratedKernel, config: Config) -> list[str]:
    """Names of the arguments a launch passes: all of the function's, less those the configuration sets."""
    return [name for name in kernel.tuner.fn.arg_names if name not in config.kwargs]


def _timed(step: LaunchStep, found: Expected | None) -> LaunchStep:
    if found is None:
        return step
    return replace(
        step, best_us=round(found.best_us, 3), expected_us=round(found.us, 3), low_us=round(found.low_us, 3),
        high_us=round(found.high_us, 3), limiter=found.limiter, basis=found.basis,
    )  # fmt: skip


def _total(times: list[float | None]) -> float | None:
    known = [one for one in times if one is not None]
    return round(sum(known), 2) if known else None


def _notes(steps: tuple[LaunchStep, ...]) -> tuple[str, ...]:
    unknown = sorted({step.name for step in steps if step.best_us is None})
    return (f"no estimate for: {', '.join(unknown)}",) if unknown else ()
