"""The @triton.jit kernels of a repository, compiled for AMD: found by reading, compiled in a child process."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import from_json
from kernel_pytorch.perf.inspect.child import LIMIT_S, run_child
from kernel_pytorch.perf.inspect.find_kernels import find_kernels, python_files
from kernel_pytorch.perf.inspect.inspection import gpu_for
from kernel_pytorch.perf.inspect.view import Configuration

# Autotuners list up to hundreds; each takes a second or more to compile.
MOST_CONFIGURATIONS = 12
LIMIT_PER_KERNEL_S = 300


@dataclass(frozen=True)
class UserKernel:
    """A kernel of the repository on one target. `assumed` are types and constants the source does not say."""

    target: str
    path: str
    line: int
    name: str
    signature: dict[str, str]
    assumed: dict[str, str]
    configurations: tuple[Configuration, ...]
    fitting: int
    failure: str | None
    cause: str  # "", "import", "signature", "compiler", "time", "does not fit"


@dataclass(frozen=True)
class RepositoryView:
    """All of them."""

    root: str
    kernels: tuple[UserKernel, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """What the child found for one target."""

    kernels: tuple[UserKernel, ...]
    notes: tuple[str, ...]


def inspect_repository(
    root: Path,
    architectures: Sequence[str],
    spec: Path | None,
    tell: Callable[[str], None],
    configurations: str = "all",
) -> RepositoryView:
    """Find and compile. Raises UsageError where there is nothing to find."""
    if not root.exists():
        raise UsageError(f"{root}: no such file or folder")
    gpus = [gpu_for(name) for name in architectures]
    files = python_files(root)
    found = find_kernels(files)
    if not found:
        raise UsageError(f"{root}: no @triton.jit kernel that is launched; files read: {len(files)}")
    kernels: list[UserKernel] = []
    notes: list[str] = []
    for gpu in gpus:
        tell(f"{counted(len(found), 'kernel')} of {root} for {gpu.target.name}")
        with tempfile.TemporaryDirectory(prefix="kpt-inspect-") as folder:
            answer = Path(folder) / "answer.json"
            request: dict[str, object] = {
                "root": str(root),
                "gpu": gpu.alias,
                "spec": str(spec) if spec else "",
                "most": 1 if configurations == "first" else MOST_CONFIGURATIONS,
                "answer": str(answer),
            }
            limit = max(LIMIT_S, LIMIT_PER_KERNEL_S * len(found))
            run_child("kernel_pytorch.perf.inspect.repository_worker", request, str(root), limit, tell)
            got = from_json(Answer, answer.read_text(encoding="utf-8"))
        kernels += got.kernels
        notes += [note for note in got.notes if note not in notes]
    return RepositoryView(str(root), tuple(kernels), tuple(notes))
