"""Starts the worker on a copy of the project, once for a stood-in CUDA and once for a stood-in ROCm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import from_json
from kernel_pytorch.core.hardware import GPU, gpu_by_alias
from kernel_pytorch.core.toml_file import read_toml
from kernel_pytorch.verify.install.record import Failure, InstallRecord
from kernel_pytorch.verify.install.tool_folder import cuda_folder, rocm_folder

CUDA_GPU = "h200"
TIMEOUT_S = 300.0
# What a user's shell may carry over from the other vendor, and what would make the two runs differ for no reason.
_UNSET = (
    "CUDA_HOME", "CUDA_PATH", "ROCM_HOME", "ROCM_PATH", "HIP_PATH", "HIP_HOME", "HIP_PLATFORM", "TORCH_CUDA_ARCH_LIST",
    "PYTORCH_ROCM_ARCH", "GPU_ARCHS", "FORCE_CUDA", "NVCC_FLAGS", "CC", "CXX",
)  # fmt: skip


@dataclass(frozen=True)
class InstallTrial:
    """The records of both platforms. `tree` is the ROCm copy, with the files that torch's hipify wrote."""

    cuda: InstallRecord
    rocm: InstallRecord
    tree: Path


def try_install(root: Path, paths: Iterable[str], rocm_gpu: str, scratch: Path) -> InstallTrial:
    """Run the project's setup.py on copies of `paths` below `scratch`. This runs the project's code."""
    (trial,) = try_installs([(root, paths)], rocm_gpu, scratch)
    return trial


def try_installs(
    projects: Sequence[tuple[Path, Iterable[str]]], rocm_gpu: str, scratch: Path
) -> tuple[InstallTrial, ...]:
    """The same for several projects, in one start of Python and one import of torch."""
    requests = []
    for number, (root, paths) in enumerate(projects):
        listed = list(paths)
        for platform, gpu in (("cuda", CUDA_GPU), ("rocm", rocm_gpu)):
            place = scratch / f"{number}-{platform}"
            _copy(root, listed, place / "tree")
            requests.append(_request(place, platform, gpu_by_alias(gpu)))
    listing = scratch / "requests.json"
    listing.write_text(json.dumps(requests))
    command = [sys.executable, "-m", "kernel_pytorch.verify.install.worker", str(listing)]
    done = subprocess.run(
        command, cwd=scratch, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S * len(requests) + 60
    )
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    records = [_record(request, last) for request in requests]
    trees = [Path(request["project"]) for request in requests]
    return tuple(
        InstallTrial(cuda, rocm, tree)
        for cuda, rocm, tree in zip(records[::2], records[1::2], trees[1::2], strict=True)
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
        if source.is_file() and not source.is_symlink():
            (destination / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, destination / path)
    return destination


class _Request(TypedDict):
    project: str
    platform: str
    gpu: str
    answer: str
    legacy: bool
    timeout_s: float
    environment: dict[str, str]


def _request(place: Path, platform: str, gpu: GPU) -> _Request:
    tools, home = place / "tools", place / "home"
    home.mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if name not in _UNSET}
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
        "project": str(place / "tree"),
        "platform": platform,
        "gpu": gpu.alias,
        "answer": str(place / "answer.json"),
        "legacy": _is_legacy(place / "tree"),
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
