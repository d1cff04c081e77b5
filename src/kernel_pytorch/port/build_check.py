"""Builds what a port wrote, for real, and says what does not compile, on the lines of the file that was written.

The ported sources are laid out in a scratch folder with the rest of the project beside them, so that includes resolve
as they will in the project.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.findings import CheckResult, Patch, Status
from kernel_pytorch.port.discover import Project
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions, check_unit
from kernel_pytorch.toolchain.diagnostics import errors
from kernel_pytorch.toolchain.find import Toolchain

# torch's own headers need torch's build to rename them first: `make` of such a project is the test, not ours.
_TORCH_INCLUDES = (b"<torch/", b"<ATen/", b"<c10/", b"<pybind11/", b'"torch/')


@dataclass(frozen=True)
class Job:
    """One source to build: the path in the project and the file in the scratch folder."""

    path: str
    file: Path


def build_ported(
    project: Project, patches: Sequence[Patch], toolchain: Toolchain, target: str, include_dirs: Sequence[Path] = ()
) -> tuple[CheckResult, ...]:
    """Device and host pass of every ported .cu or .hip source, one result each."""
    sources = [patch for patch in patches if patch.path.endswith((".cu", ".hip"))]
    if not sources:
        return ()
    with tempfile.TemporaryDirectory(prefix="kpt-port-") as scratch:
        root = Path(scratch) / "project"
        _lay_out(project, patches, root)
        folders = [root, root / "include", root / "src", *include_dirs]
        options = CompileOptions(include_dirs=tuple(folder for folder in folders if folder.is_dir()))

        def build(patch: Patch) -> CheckResult:
            return _build_one(patch, root / patch.path, target, toolchain, options, root)

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return tuple(pool.map(build, sources))


def _lay_out(project: Project, patches: Sequence[Patch], root: Path) -> None:
    for path in (*project.of("cuda", "c++"),):
        destination = root / path
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(project.root / path, destination)
    for patch in patches:
        destination = root / patch.path
        destination.parent.mkdir(parents=True, exist_ok=True)
        destination.write_bytes(patch.after)


def _build_one(
    patch: Patch, file: Path, target: str, toolchain: Toolchain, options: CompileOptions, root: Path
) -> CheckResult:
    name = f"build {patch.path} for {target}"
    if any(marker in patch.after for marker in _TORCH_INCLUDES):
        return CheckResult(name, Status.NOT_RUN, "includes torch's headers: built by torch's own extension build")
    try:
        check_unit(file, target, toolchain, options)
    except CompileFailed as failure:
        shown = errors(failure.messages) or failure.messages
        lines = [str(message).replace(f"{root}/", "") for message in shown[:3]]
        more = f" (and {len(shown) - 3} more)" if len(shown) > 3 else ""
        return CheckResult(name, Status.FAIL, "; ".join(lines).replace(str(root), ".") + more)
    return CheckResult(name, Status.PASS, f"device and host pass, with {toolchain.version}")
