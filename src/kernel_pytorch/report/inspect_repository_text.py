"""The Triton kernels of a repository as text for a terminal."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from kernel_pytorch.perf.inspect.repository import RepositoryView, UserKernel


def repository_text(view: RepositoryView, top: int) -> str:
    """A line per kernel and target, then the failures with their reasons."""
    lines = [f"{view.root}: @triton.jit kernels"]
    for target in dict.fromkeys(kernel.target for kernel in view.kernels):
        rows = [kernel for kernel in view.kernels if kernel.target == target]
        good = [kernel for kernel in rows if kernel.failure is None]
        causes = Counter(kernel.cause for kernel in rows if kernel.failure is not None)
        failures = ", ".join(f"{count} {cause}" for cause, count in causes.items())
        lines.append(f"{target}: {len(good)} of {len(rows)} compile{'; failed: ' + failures if failures else ''}")
        lines += [f"  {_good(kernel)}" for kernel in good[:top]]
        if len(good) > top:
            lines.append(f"  ... {len(good) - top} more (--json has all)")
        for kernel in rows:
            if kernel.failure is not None:
                place = f"{Path(kernel.path).name}:{kernel.line}"
                lines.append(f"  FAILED [{kernel.cause}] {kernel.name} ({place}): {kernel.failure}")
    return "\n".join([*lines, *(f"note: {note}" for note in view.notes)])


def _good(kernel: UserKernel) -> str:
    place = f"{Path(kernel.path).name}:{kernel.line}"
    fine = [one.resources for one in kernel.configurations if one.resources is not None]
    first = fine[0]
    pruned = (
        "" if len(kernel.configurations) == 1 else f", {kernel.fitting} of {len(kernel.configurations)} configs fit"
    )
    spills = f", {first.spills} spills" if first.spills else ""
    return f"{kernel.name} ({place}): {first.registers} VGPRs, {first.lds_bytes} B LDS{spills}{pruned}"
