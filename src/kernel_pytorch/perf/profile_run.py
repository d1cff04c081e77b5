"""Runs torch.profiler as it should be run: warm-up outside, shapes recorded, the device waited for.

The first calls compile, tune and allocate; none of that belongs in a profile. The trace goes through the same reader as
anybody's.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.core.entry_point import blaming
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.perf.bench.target import Target
from kernel_pytorch.perf.profile import CompileReport
from kernel_pytorch.perf.trace.chrome import read_chrome_trace
from kernel_pytorch.perf.trace.recording import Recording

if TYPE_CHECKING:
    from kernel_pytorch.perf.compile_log import CompileWatch

MIN_WARMUP = 3


@dataclass(frozen=True)
class ProfiledRun:
    """The recording of a run, and what torch.compile did before it."""

    recording: Recording
    compile_log: CompileReport | None


def profile_target(
    target: Target, *, warmup: int = 5, steps: int = 3, modules: bool = False, keep_trace: Path | None = None
) -> ProfiledRun:
    """Warm up, record `steps` calls, read the trace. `modules` adds Python stacks, which slow the host down."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    if warmup < MIN_WARMUP:
        raise UsageError(f"--warmup {warmup}: at least {MIN_WARMUP}; compilation and tuning must not be in a profile")
    on_gpu = torch.cuda.is_available()
    if not on_gpu:  # torch 2.13's profiler prints two lines of its own for every recording; on a GPU its errors matter
        os.environ.setdefault("KINETO_LOG_LEVEL", "6")
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if on_gpu else [])
    with (
        torch.inference_mode() if _no_gradients(target) else torch.enable_grad(),
        _watch_compiler() as compiled,
        warnings.catch_warnings(),
    ):
        with blaming(target.name):
            for _ in range(warmup):
                target.call(*target.arguments, **target.keywords)
            _wait(on_gpu)
        started = time.perf_counter()
        for _ in range(steps):
            target.call(*target.arguments, **target.keywords)
        _wait(on_gpu)
        unprofiled_ms = (time.perf_counter() - started) * 1e3 / steps
        warnings.filterwarnings("ignore", message=".*Profiler clears events.*")  # one cycle is all there is
        with profile(activities=activities):
            target.call(*target.arguments, **target.keywords)  # the profiler's own first time is its slowest
            _wait(on_gpu)
        with profile(activities=activities, record_shapes=True, with_stack=modules, with_modules=modules) as recorder:
            for number in range(steps):
                with torch.profiler.record_function(f"ProfilerStep#{number}"):
                    target.call(*target.arguments, **target.keywords)
            _wait(on_gpu)
    with _trace_file(keep_trace) as path:
        recorder.export_chrome_trace(str(path))
        recording = read_chrome_trace(path)
    recording.source = target.name
    recording.form = "torch.profiler"
    recording.unprofiled_ms = unprofiled_ms
    if recording.on_cpu and on_gpu:
        recording.notes.append("a GPU is here but nothing ran on it: are model and inputs on the CPU?")
    log = compiled.report() if compiled is not None else None
    return ProfiledRun(recording, log if log and (log.graphs or log.breaks or log.recompiles) else None)


def _watch_compiler() -> AbstractContextManager[CompileWatch | None]:
    """Watch torch.compile where the target has it; importing it takes seconds that an eager model need not wait."""
    if "torch._dynamo" not in sys.modules:
        return nullcontext()
    from kernel_pytorch.perf.compile_log import watch

    return watch()


def _no_gradients(target: Target) -> bool:
    """Inference unless the model is being trained; a plain callable decides for itself."""
    return target.is_module and not getattr(target.call, "training", True)


def _wait(on_gpu: bool) -> None:
    if on_gpu:
        import torch

        torch.cuda.synchronize()


@contextmanager
def _trace_file(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.parent.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "trace.json"


def device_facts() -> dict[str, object]:
    """The current device as torch tells it, in the form traces have it."""
    import torch

    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    return {
        "name": properties.name,
        "totalGlobalMem": properties.total_memory,
        "computeMajor": properties.major,
        "computeMinor": properties.minor,
        "numSms": properties.multi_processor_count,
        "warpSize": getattr(properties, "warp_size", 32),
    }
