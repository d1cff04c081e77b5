"""Torch does not import

What: `import torch` in a fresh process of this Python raised an exception, crashed or did not return.
Why: Typical causes are a missing library (an nvidia-* or rocm-* package was uninstalled), two torch versions mixed
    together (KP104), or a GPU driver that does not answer.
Fix: Read the message. `python -X faulthandler -c "import torch"` shows where a crash happens.
Source: https://docs.python.org/3/library/faulthandler.html. The causes come from practice: we know of no public list.
    Doctor imports torch in a child process with a time limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP110", "torch-import-fails", "torch", Applies.TORCH)


def check(machine: Machine) -> Iterator[CheckResult]:
    answer = machine.torch_probe
    python = machine.probe.python or "python3"
    if answer.outcome == "ok":
        yield CHECK.ok(f"torch {answer.facts.get('version')} imports")
    elif answer.outcome == "skipped":
        yield CHECK.not_run(answer.detail)
    else:
        verb = "hangs while it is imported" if answer.outcome == "hangs" else "does not import"
        yield CHECK.red(f"torch {verb}: {answer.detail}", f'{python} -X faulthandler -c "import torch"')
