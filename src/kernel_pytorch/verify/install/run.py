"""Starts the worker on a copy of the project, once for a stood-in CUDA and once for a stood-in ROCm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
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
ROCM_GPU = "mi300x"
TIMEOUT_S = 300.0
# What a user's shell may carry over from the other vendor, and what would make the two runs differ for no reason.
_UNSET = (
    "CUDA_HOME", "CUDA_PATH", "ROCM_HOME", "ROCM_PATH", "HIP_PATH", "HIP_HOME", "HIP_PLATFORM", "TORCH_CUDA_ARCH_LIST",
    "PYTORCH_ROCM_ARCH", "GPU_ARCHS", "FORCE_CUDA", "NVCC_FLAGS", "CC", "CXX",
)  # fmt: skip


@dataclass(frozen=True)
class InstallRequest:
    """A project to try: its top folder, the files to copy, and the folder of its setup.py below the top.

    `changed` are files with other contents than below `root`, or that are not there.
    """

    root: Path
    paths: tuple[str, ...]
    folder: str = "."
    changed: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def setup(self) -> str:
        return (PurePosixPath(self.folder) / "setup.py").as_posix()


def try_installs(projects: Sequence[InstallRequest], rocm_gpu: str, scratch: Path) -> tuple[InstallTrial, ...]:
    """Run each setup.py on copies below `scratch`, in one start of Python. This runs the projects' code."""
    requests = []
    for project in projects:
        requests.append(_request(scratch, project, "cuda", gpu_by_alias(CUDA_GPU)))
        rocm = _request(scratch, project, "rocm", gpu_by_alias(rocm_gpu))
        requests += [rocm, _once_more(rocm)]
    records = _run(requests, scratch)
    rows = zip(projects, records[::3], records[1::3], records[2::3], requests[1::3], strict=True)
    return tuple(
        InstallTrial(project.setup, cuda, rocm, Path(request["tree"]), again)
        for project, cuda, rocm, again, request in rows
    )


def try_on_rocm(trial: InstallTrial, projects: Sequence[InstallRequest], gpu: str, scratch: Path) -> list[InstallTrial]:
    """The trial again with other contents of its files, for ROCm only: CUDA's record stays."""
    requests = [_request(scratch, project, "rocm", gpu_by_alias(gpu)) for project in projects]
    records = _run(requests, scratch)
    return [
        InstallTrial(trial.setup, trial.cuda, record, Path(request["tree"]))
        for record, request in zip(records, requests, strict=True)
    ]


def _run(requests: Sequence[_Request], scratch: Path) -> list[InstallRecord]:
    require_project_code("setup.py")
    listing = scratch / "requests.json"
    listing.write_text(json.dumps(requests))
    command = python_module("kernel_pytorch.verify.install.worker", str(listing))
    try:
        last = (run_child(command, cwd=scratch, timeout_s=TIMEOUT_S * len(requests) + 60).stderr.strip()).splitlines()
    except subprocess.TimeoutExpired:
        last = []
    return [_record(request, last[-1] if last else "no message") for request in requests]


def _record(request: _Request, last_line: str) -> InstallRecord:
    answer = Path(request["answer"])
    if answer.is_file():
        return from_json(InstallRecord, answer.read_text())
    text = f"setup.py gave no answer within {TIMEOUT_S:g} s, or ended Python: {last_line}"
    return InstallRecord(request["platform"], failure=Failure(text))


def _copy(project: InstallRequest, destination: Path) -> None:
    for path in project.paths:
        source = project.root / path
        # A link is followed only where it stays inside the project.
        if path not in project.changed and source.is_file() and is_inside(source, project.root):
            (destination / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, destination / path)
    for path, data in project.changed.items():
        (destination / path).parent.mkdir(parents=True, exist_ok=True)
        (destination / path).write_bytes(data)


class _Request(TypedDict):
    tree: str
    folder: str
    platform: str
    gpu: str
    answer: str
    legacy: bool
    timeout_s: float
    environment: dict[str, str]


def _request(scratch: Path, project: InstallRequest, platform: str, gpu: GPU) -> _Request:
    place = Path(mkdtemp(prefix=f"{platform}-", dir=scratch))
    _copy(project, place / "tree")
    tools, home = place / "tools", place / "home"
    home.mkdir()
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
        "folder": project.folder,
        "platform": platform,
        "gpu": gpu.alias,
        "answer": str(place / "answer.json"),
        "legacy": _is_legacy(place / "tree" / project.folder),
        "timeout_s": TIMEOUT_S,
        "environment": environment,
    }


def _once_more(request: _Request) -> _Request:
    """The same run in the same tree, where the first one left what it wrote."""
    return {**request, "answer": f"{request['answer']}.again"}


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
