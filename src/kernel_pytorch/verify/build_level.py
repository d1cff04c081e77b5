"""Build level: every kernel source of the ported project, compiled for every wanted target."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.port.cuda.translated_tree import translated_tree
from kernel_pytorch.port.discover import discover
from kernel_pytorch.toolchain.code_object import KernelResources, read_code_object
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions, check_host, compile_device
from kernel_pytorch.toolchain.diagnostics import errors
from kernel_pytorch.toolchain.find import Toolchain, ToolchainNotFoundError, find_toolchain
from kernel_pytorch.verify.levels import LevelResult

# torch's headers speak CUDA until torch's own build renames them: such a file is built by the project's setup.py.
_TORCH_INCLUDES = (b"<torch/", b"<ATen/", b"<c10/", b"<pybind11/", b'"torch/')


@dataclass(frozen=True)
class BuiltKernel:
    """One kernel that compiled for one target, with what it needs."""

    source: str
    target: str
    resources: KernelResources


def build_level(root: Path, targets: Sequence[str]) -> tuple[LevelResult, tuple[BuiltKernel, ...]]:
    """Compile every .hip and .cu of the project. Returns the level and the kernels."""
    project = discover(root)
    sources = [path for path in project.of("cuda", "c++") if path.endswith((".cu", ".hip"))]
    # A copy-layout port has the HIP twin beside the CUDA original: the twin is what ROCm builds.
    twins = {path for path in sources if path.endswith(".hip")}
    sources = [path for path in sources if path.endswith(".hip") or f"{path[:-3]}.hip" not in twins]
    if not sources:
        check = CheckResult("kernels", Status.PASS, "the project has no .cu or .hip sources")
        return LevelResult("build", (check,)), ()
    try:
        toolchain = find_toolchain()
    except ToolchainNotFoundError as error:
        return LevelResult("build", (), f"a HIP compiler: {error}"), ()
    folders = tuple(f for f in (root, root / "include", root / "src", root / "csrc") if f.is_dir())
    jobs = [(path, target) for path in sources for target in targets]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = list(pool.map(lambda job: _build(root, job[0], job[1], toolchain, folders), jobs))
    checks = tuple(check for check, _ in results)
    return LevelResult("build", checks), tuple(kernel for _, kernels in results for kernel in kernels)


def _build(
    root: Path, path: str, target: str, toolchain: Toolchain, folders: tuple[Path, ...]
) -> tuple[CheckResult, tuple[BuiltKernel, ...]]:
    name = f"{path} for {target}"
    content = (root / path).read_bytes()
    if any(marker in content for marker in _TORCH_INCLUDES):
        detail = "includes torch's headers: built by the project's own setup.py where a ROCm torch is installed"
        return CheckResult(name, Status.NOT_RUN, detail), ()
    try:
        if path.endswith(".cu"):
            with translated_tree(root / path, folders) as tree:
                options = CompileOptions(include_dirs=folders)
                payload = compile_device(tree.main, target, toolchain, options)
                check_host(tree.main, toolchain, options, target)
        else:
            options = CompileOptions(include_dirs=folders)
            payload = compile_device(root / path, target, toolchain, options)
            check_host(root / path, toolchain, options, target)
    except CompileFailed as failure:
        shown = errors(failure.messages) or failure.messages
        return CheckResult(name, Status.FAIL, "; ".join(str(message) for message in shown[:3])), ()
    kernels = tuple(BuiltKernel(path, target, one) for one in read_code_object(payload).kernels)
    return CheckResult(name, Status.PASS, f"{len(kernels)} kernels, {toolchain.version}"), kernels
