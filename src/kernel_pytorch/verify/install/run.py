"""Starts the worker on a copy of the project, once for a stood-in CUDA and once for a stood-in ROCm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypedDict

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import from_json
from kernel_pytorch.core.hardware import GPU, gpu_by_alias
from kernel_pytorch.core.inside import is_inside
from kernel_pytorch.core.process import run_child
from kernel_pytorch.core.project_code import require_project_code
from kernel_pytorch.core.python_child import child_environment, python_module
from kernel_pytorch.core.toml_file import read_toml
from kernel_pytorch.verify.install.record import Failure, InstallRecord, InstallTrial
from kernel_pytorch.verify.install.tool_folder import cuda_folder, rocm_folder

CUDA_GPU = "h200"
TIMEOUT_S = 300.0
# What a user's shell may carry over from the other vendor, and what would make the two runs differ for no reason.
_UNSET = (
    "CUDA_HOME", "CUDA_PATH", "ROCM_HOME", "ROCM_PATH", "HIP_PATH", "HIP_HOME", "HIP_PLATFORM", "TORCH_CUDA_ARCH_LIST",
    "PYTORCH_ROCM_ARCH", "GPU_ARCHS", "FORCE_CUDA", "NVCC_FLAGS", "CC", "CXX",
)  # fmt: skip


@dataclass(frozen=True)
class InstallRequest:
    """A project to try: its top folder, the files to copy, and the folder of its setup.py below the top."""

    root: Path
    paths: tuple[str, ...]
    folder: str = "."


def try_installs(projects: Sequence[InstallRequest], rocm_gpu: str, scratch: Path) -> tuple[InstallTrial, ...]:
    """Run each setup.py on copies below `scratch`, in one start of Python. This runs the projects' code."""
    require_project_code("setup.py")
    requests = []
    for number, project in enumerate(projects):
        for platform, gpu in (("cuda", CUDA_GPU), ("rocm", rocm_gpu)):
            place = scratch / f"{number}-{platform}"
            _copy(project.root, project.paths, place / "tree")
            requests.append(_request(place, project.folder, platform, gpu_by_alias(gpu)))
    listing = scratch / "requests.json"
    listing.write_text(json.dumps(requests))
    command = python_module("kernel_pytorch.verify.install.worker", str(listing))
    try:
        last = (run_child(command, cwd=scratch, timeout_s=TIMEOUT_S * len(requests) + 60).stderr.strip()).splitlines()
    except subprocess.TimeoutExpired:
        last = []
    records = [_record(request, last[-1] if last else "no message") for request in requests]
    pairs = zip(records[::2], records[1::2], requests[1::2], projects, strict=True)
    return tuple(
        InstallTrial((PurePosixPath(project.folder) / "setup.py").as_posix(), cuda, rocm, Path(request["tree"]))
        for cuda, rocm, request, project in pairs
    )


def _record(request: _Request, last_line: str) -> InstallRecord:
    answer = Path(request["answer"])
    if answer.is_file():
        return from_json(InstallRecord, answer.read_text())
    text = f"setup.py gave no answer within {TIMEOUT_S:g} s, or ended Python: {last_line}"
    return InstallRecord(request["platform"], failure=Failure(text))


def _copy(root: Path, paths: Iterable[str], destination: Path) -> Path:
    for path in paths:
        source = root / path
        # A link is followed only where it stays inside the project.
        if source.is_file() and is_inside(source, root):
            (destination / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, destination / path)
    return destination


class _Request(TypedDict):
    tree: str
    folder: str
    platform: str
    gpu: str
    answer: str
    legacy: bool
    timeout_s: float
    environment: dict[str, str]


def _request(place: Path, folder: str, platform: str, gpu: GPU) -> _Request:
    tools, home = place / "tools", place / "home"
    home.mkdir(parents=True)
    environment = {name: value for name, value in child_environment().items() if name not in _UNSET}
    if platform == "rocm":
        rocm_folder(tools, gpu)
        environment |= {"ROCM_HOME": str(tools), "ROCM_PATH": str(tools)}
    else:
        cuda_folder(tools)
        environment |= {"CUDA_HOME": str(tools), "CUDA_PATH": str(tools)}
    environment |= {
        "PATH": os.pathsep.join([str(tools / "bin"), *_path_without_gpu_compilers()]),
        "HOME": str(home),
        "KPT_BUILD_FOLDER": str(home / "build"),
        "TORCH_DONT_CHECK_COMPILER_ABI": "1",
        "MAX_JOBS": "1",
    }
    return {
        "tree": str(place / "tree"),
        "folder": folder,
        "platform": platform,
        "gpu": gpu.alias,
        "answer": str(place / "answer.json"),
        "legacy": _is_legacy(place / "tree" / folder),
        "timeout_s": TIMEOUT_S,
        "environment": environment,
    }


def _path_without_gpu_compilers() -> list[str]:
    """The folders of PATH in which neither vendor's compiler is: a ROCm machine has no nvcc."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return [one for one in folders if not any((Path(one) / name).exists() for name in ("nvcc", "hipcc"))]


def _is_legacy(tree: Path) -> bool:
    """pip's rule: a project that names no build backend gets setuptools' legacy one, with its folder on the path."""
    file = tree / "pyproject.toml"
    if not file.is_file():
        return True
    try:
        return "build-backend" not in read_toml(file).get("build-system", {})
    except UsageError:
        return True
