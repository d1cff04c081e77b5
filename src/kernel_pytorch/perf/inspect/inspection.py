"""Inspects a subject for one or several targets: one child process each, so that nothing stays patched."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import from_json
from kernel_pytorch.core.hardware import GPU, UnknownTargetError, gpu_by_alias, target, usual_gpu
from kernel_pytorch.perf.inspect.child import run_child
from kernel_pytorch.perf.inspect.compare import differences
from kernel_pytorch.perf.inspect.view import Inspection, TargetView


def gpu_for(name: str) -> GPU:
    """The product a target (gfx942, sm_90) or an alias (mi300x) names. Raises UnknownTargetError."""
    try:
        return gpu_by_alias(name)
    except UnknownTargetError:
        facts = target(name)
    gpu = usual_gpu(facts.name)
    if gpu is None:
        raise UnknownTargetError(f"{name}: the hardware table has no product with this target, so no peak rates")
    return gpu


def inspect_subject(
    subject: str,
    architectures: Sequence[str],
    run: bool = False,
    configurations: str = "all",
    tell: Callable[[str], None] = lambda text: None,
) -> Inspection:
    """What torch.compile would run for `subject` on each of the GPUs. Raises UsageError where it cannot be said."""
    gpus = [gpu_for(name) for name in architectures]
    if run and any(gpu.vendor != "amd" for gpu in gpus):
        raise UsageError("--run executes AMD code on the emulated GPU: name AMD targets only")
    views = []
    for gpu in gpus:
        tell(f"{gpu.target.name} ({gpu.name})")
        views.append(inspect_one(subject, gpu, run, configurations))
    return Inspection(subject, tuple(views), differences(views))


def inspect_one(subject: str, gpu: GPU, run: bool, configurations: str) -> TargetView:
    """One target, in a child process."""
    with tempfile.TemporaryDirectory(prefix="kpt-inspect-") as folder:
        answer = Path(folder) / "answer.json"
        request = {
            "subject": subject,
            "gpu": gpu.alias,
            "run": run,
            "configurations": configurations,
            "answer": str(answer),
        }
        run_child("kernel_pytorch.perf.inspect.worker", request, subject)
        return from_json(TargetView, answer.read_text(encoding="utf-8"))
