"""Starts the worker on a copy of the project, once for a stood-in CUDA and once for a stood-in ROCm."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from subprocess import PIPE
from tempfile import mkdtemp
from typing import TypedDict

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import from_json
from kernel_pytorch.core.hardware import GPU, gpu_by_alias
from kernel_pytorch.core.inside import is_inside
from kernel_pytorch.core.process import ChildProcess, end_child, start_child
from kernel_pytorch.core.project_code import require_project_code
from kernel_pytorch.core.python_child import child_environment, python_module
from kernel_pytorch.core.toml_file import read_toml
from kernel_pytorch.port.apply import only_copied
from kernel_pytorch.toolchain.rocm_folder import ROCM_VERSION, rocm_folder
from kernel_pytorch.toolchain.torch_headers import TorchHeadersError, installed_torch
from kernel_pytorch.verify.install.cmake_tools import BUILD_LOG, add_cmake, folders_with_compilers, toolchain_file
from kernel_pytorch.verify.install.cuda_folder import cuda_folder
from kernel_pytorch.verify.install.record import Failure, InstallRecord, InstallTrial

CUDA_GPU = "h200"
ROCM_GPU = "mi300x"
TIMEOUT_S = 300.0
# What a user's shell may carry over from the other vendor, and what would make the two runs differ for no reason.
_UNSET = (
    "CUDA_HOME", "CUDA_PATH", "ROCM_HOME", "ROCM_PATH", "HIP_PATH", "HIP_HOME", "HIP_PLATFORM", "TORCH_CUDA_ARCH_LIST",
    "PYTORCH_ROCM_ARCH", "GPU_ARCHS", "FORCE_CUDA", "NVCC_FLAGS", "CC", "CXX",
)  # fmt: skip


# For the programs that a build description starts; in Python itself the worker refuses connections.
_NO_NETWORK = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9"),
    "GIT_ALLOW_PROTOCOL": "file",
    "PIP_NO_INDEX": "1",
}


@dataclass(frozen=True, eq=False)
class InstallRequest:
    """A project to try: its top folder, the files to copy, and the folder of its build description below the top.

    `changed` are files with other contents than below `root`, or that are not there.
    """

    root: Path
    paths: tuple[str, ...]
    folder: str = "."
    changed: Mapping[str, bytes] = field(default_factory=dict)
    description: str = "setup.py"

    @property
    def described_by(self) -> str:
        """The build description, from the top folder."""
        return (PurePosixPath(self.folder) / self.description).as_posix()


class InstallWorker:
    """The process that runs build descriptions. It starts with the first of them and imports torch once for all."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self._process: ChildProcess | None = None
        self._rounds = 0

    def __enter__(self) -> InstallWorker:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._process is not None:
            end_child(self._process, grace_s=0.2)

    def run(self, requests: Sequence[_Request]) -> list[InstallRecord]:
        """The record of every request. This runs the projects' code."""
        require_project_code("setup.py")
        talk = self.scratch / "worker.log"
        if self._process is None or self._process.poll() is not None:
            command = python_module("kernel_pytorch.verify.install.worker")
            with talk.open("ab") as file:
                self._process = start_child(command, cwd=self.scratch, stdin=PIPE, stdout=file, stderr=file)
        self._rounds += 1
        listing = self.scratch / f"requests-{self._rounds}.json"
        listing.write_text(json.dumps(requests))
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{listing}\n".encode())
            self._process.stdin.flush()
        end = time.monotonic() + TIMEOUT_S * len(requests) + 60
        while not listing.with_suffix(".done").exists() and self._process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        last = talk.read_text(errors="replace").strip().splitlines() if talk.is_file() else []
        return [_record(request, last[-1] if last else "no message") for request in requests]


def try_installs(projects: Sequence[InstallRequest], rocm_gpu: str, worker: InstallWorker) -> tuple[InstallTrial, ...]:
    """Run each build description on copies, for CUDA and for ROCm. This runs the projects' code."""
    requests = []
    for project in projects:
        requests.append(_request(worker.scratch, project, "cuda", gpu_by_alias(CUDA_GPU)))
        rocm = _request(worker.scratch, project, "rocm", gpu_by_alias(rocm_gpu))
        requests += [rocm, _once_more(rocm)]
    records = worker.run(requests)
    rows = zip(projects, records[::3], records[1::3], records[2::3], requests[1::3], strict=True)
    return tuple(
        InstallTrial(project.described_by, cuda, rocm, Path(request["tree"]), again)
        for project, cuda, rocm, again, request in rows
    )


def try_on_rocm(
    trial: InstallTrial, projects: Sequence[InstallRequest], gpu: str, worker: InstallWorker
) -> list[InstallTrial]:
    """The trial again with other contents of its files, for ROCm only: CUDA's record stays."""
    requests = [_request(worker.scratch, project, "rocm", gpu_by_alias(gpu)) for project in projects]
    records = worker.run(requests)
    return [
        InstallTrial(trial.setup, trial.cuda, record, Path(request["tree"]))
        for record, request in zip(records, requests, strict=True)
    ]


def _record(request: _Request, last_line: str) -> InstallRecord:
    answer = Path(request["answer"])
    if answer.is_file():
        return from_json(InstallRecord, answer.read_text())
    text = f"{request['description']} gave no answer within {TIMEOUT_S:g} s, or ended Python: {last_line}"
    return InstallRecord(request["platform"], failure=Failure(text))


def _copy(project: InstallRequest, destination: Path, scratch: Path) -> None:
    for path in project.paths:
        source = project.root / path
        # A link is followed only where it stays inside the project.
        if path in project.changed or not is_inside(source, project.root):
            continue
        if source.is_file():
            (destination / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, destination / path)
        elif source.is_dir() and not source.is_symlink():  # git names a submodule as one entry
            (destination / path).parent.mkdir(parents=True, exist_ok=True)
            (destination / path).symlink_to(_submodule(source, scratch), target_is_directory=True)
    for path, data in project.changed.items():
        (destination / path).parent.mkdir(parents=True, exist_ok=True)
        (destination / path).write_bytes(data)
    description = destination / project.described_by
    if b"git" in description.read_bytes():
        _make_repository(destination)  # versions are made of `git rev-parse HEAD`, and users install from a clone


def _submodule(source: Path, scratch: Path) -> Path:
    """One copy of a submodule for all runs: it can be large, and no run changes it."""
    name = hashlib.sha1(os.fsencode(source), usedforsecurity=False).hexdigest()
    copy = scratch / "submodules" / name / source.name
    if not copy.is_dir():
        shutil.copytree(source, copy, symlinks=True, ignore=only_copied)
    return copy


def _make_repository(folder: Path) -> None:
    """A git repository with one empty commit."""
    who = b"kpt <kpt@localhost> 0 +0000"
    text = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor " + who + b"\ncommitter " + who + b"\n\ncopy\n"
    data = b"commit %d\0" % len(text) + text
    name = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    files = {
        "HEAD": b"ref: refs/heads/main\n",
        "config": b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
        "refs/heads/main": name.encode() + b"\n",
        f"objects/{name[:2]}/{name[2:]}": zlib.compress(data),
    }
    for path, content in files.items():
        (folder / ".git" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / ".git" / path).write_bytes(content)


class _Request(TypedDict):
    tree: str
    folder: str
    description: str
    platform: str
    gpu: str
    answer: str
    legacy: bool
    timeout_s: float
    environment: dict[str, str]


def prepare(scratch: Path, project: InstallRequest, platform: str, gpu: GPU) -> tuple[Path, dict[str, str]]:
    """A folder with a copy of the project and the tools that are stood in for, and the environment of a run in it."""
    place = Path(mkdtemp(prefix=f"{platform}-", dir=scratch)).resolve()
    _copy(project, place / "tree", scratch)
    tools, home = place / "tools", place / "home"
    home.mkdir()
    environment = {name: value for name, value in child_environment().items() if name not in _UNSET}
    if platform == "rocm":
        rocm_folder(tools, gpu)
        # CMAKE_ARGS: how setup.py files that configure CMake take options from a user.
        environment |= {"ROCM_HOME": str(tools), "ROCM_PATH": str(tools), "CMAKE_ARGS": "-DUSE_HIP=ON"}
        if b"ROCM_VERSION" in (place / "tree" / project.described_by).read_bytes():
            environment["ROCM_VERSION"] = ROCM_VERSION.rpartition(".")[0]  # how such a project is told
    else:
        cuda_folder(tools)
        environment |= {"CUDA_HOME": str(tools), "CUDA_PATH": str(tools)}
    add_cmake(tools, platform, gpu, _imported_targets(place / "tree", project))
    environment |= {
        "PATH": os.pathsep.join([str(tools / "bin"), *_path_without_gpu_compilers()]),
        "HOME": str(home),
        "KPT_BUILD_FOLDER": str(home / "build"),
        "TORCH_DONT_CHECK_COMPILER_ABI": "1",
        "MAX_JOBS": "1",
        "CMAKE_TOOLCHAIN_FILE": str(toolchain_file(tools)),
        "CMAKE_PREFIX_PATH": os.pathsep.join([str(tools), *_torch_packages()]),
        BUILD_LOG: str(place / "cmake.log"),
        **_NO_NETWORK,
    }
    return place, environment


def _torch_packages() -> list[str]:
    """Where CMake finds the installed torch."""
    try:
        return [str(installed_torch().folder / "share/cmake")]
    except TorchHeadersError:
        return []


def _imported_targets(tree: Path, project: InstallRequest) -> set[str]:
    """The targets of other packages that the project's CMake files name."""
    files = [path for path in {*project.paths, *project.changed} if path.endswith(("CMakeLists.txt", ".cmake"))]
    texts = [(tree / path).read_bytes().decode("latin-1") for path in files if (tree / path).is_file()]
    return {name for text in texts for name in re.findall(r"\b[A-Za-z]\w*::[\w-]+", text)}


def _request(scratch: Path, project: InstallRequest, platform: str, gpu: GPU) -> _Request:
    place, environment = prepare(scratch, project, platform, gpu)
    return {
        "tree": str(place / "tree"),
        "folder": project.folder,
        "description": project.description,
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
    left_out = folders_with_compilers()
    return [one for one in os.environ.get("PATH", os.defpath).split(os.pathsep) if one not in left_out]


def _is_legacy(tree: Path) -> bool:
    """pip's rule: a project that names no build backend gets setuptools' legacy one, with its folder on the path."""
    file = tree / "pyproject.toml"
    if not file.is_file():
        return True
    try:
        return "build-backend" not in read_toml(file).get("build-system", {})
    except UsageError:
        return True
