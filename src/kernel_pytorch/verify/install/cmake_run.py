"""Configures a CMake project with a stood-in CUDA and a stood-in ROCm, on copies. Nothing is built."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.core.process import run_child
from kernel_pytorch.core.project_code import require_project_code
from kernel_pytorch.core.toml_file import read_toml
from kernel_pytorch.port.build_files.cmake_text import Command, commands
from kernel_pytorch.verify.install.cmake_record import asked_conditions, configure_failure, configured, hipified
from kernel_pytorch.verify.install.record import Failure, InstallRecord, InstallTrial
from kernel_pytorch.verify.install.run import CUDA_GPU, TIMEOUT_S, InstallRequest, prepare

_HIP_OPTION = re.compile(r"^(?:\w+_)?(?:USE|WITH|ENABLE|BUILD)_(?:HIP|ROCM)$|^(?:HIP|ROCM)$")
_CUDA_NAMES, _HIP_NAMES = ("cuda", "nvidia"), ("hip", "rocm", "amd")
_CUDA_OPTION = re.compile(r"^(?:\w+_)?(?:USE|WITH|ENABLE|BUILD)_(?:CUDA|GPU)$")


def configure_on_both(project: InstallRequest, rocm_gpu: str, scratch: Path) -> InstallTrial:
    """Configure the project twice. This runs the project's code: CMake files start what they like."""
    require_project_code("cmake")
    cuda, _ = _configured(project, "cuda", CUDA_GPU, scratch)
    rocm, tree = _configured(project, "rocm", rocm_gpu, scratch)
    return InstallTrial(project.described_by, cuda, rocm, tree)


def configure_on_rocm(trial: InstallTrial, project: InstallRequest, rocm_gpu: str, scratch: Path) -> InstallTrial:
    """The same with other contents of the project's files, for ROCm only."""
    require_project_code("cmake")
    rocm, tree = _configured(project, "rocm", rocm_gpu, scratch)
    return InstallTrial(trial.setup, trial.cuda, rocm, tree)


def _configured(project: InstallRequest, platform: str, gpu: str, scratch: Path) -> tuple[InstallRecord, Path]:
    place, environment = prepare(scratch, project, platform, gpu_by_alias(gpu))
    tree, build = (place / "tree").resolve(), place / "build"
    source = tree / project.folder
    cmake = place / "tools/bin/cmake"
    generator = ["-G", "Unix Makefiles"]
    command = [str(cmake), "-S", str(source), "-B", str(build), *generator, *_options(tree, project, platform)]
    command += _scikit_build(source)
    command += ["-DFETCHCONTENT_FULLY_DISCONNECTED=ON", "-DCMAKE_BUILD_TYPE=Release", "-Wno-dev"]
    # The one that has torch; a project may look for the first Python there is.
    command += [f"-DPython3_EXECUTABLE={sys.executable}", "--no-warn-unused-cli"]
    try:
        done = run_child(command, cwd=place, timeout_s=TIMEOUT_S, env=environment)
    except subprocess.TimeoutExpired:
        return InstallRecord(platform, failure=Failure(f"cmake gave no answer within {TIMEOUT_S:g} s")), tree
    asked = asked_conditions(build / "kpt-trace.json", tree)
    if done.returncode != 0:
        return InstallRecord(platform, failure=configure_failure(done.stderr, source, tree), conditions=asked), tree
    extensions, compiles = configured(build, tree, platform)
    return InstallRecord(platform, extensions, compiles, renamed=hipified(build, tree), conditions=asked), tree


def _scikit_build(source: Path) -> list[str]:
    """What scikit-build-core passes to CMake besides its own search paths; nothing for another build backend."""
    try:
        table = read_toml(source / "pyproject.toml") if (source / "pyproject.toml").is_file() else {}
    except UsageError:
        return []
    if not str(table.get("build-system", {}).get("build-backend", "")).startswith("scikit_build_core"):
        return []
    project, settings = table.get("project", {}), table.get("tool", {}).get("scikit-build", {}).get("cmake", {})
    values = {
        "SKBUILD": "2",
        "SKBUILD_PROJECT_NAME": project.get("name", "project"),
        "SKBUILD_PROJECT_VERSION": project.get("version", "0.0.0"),
        "SKBUILD_PROJECT_VERSION_FULL": project.get("version", "0.0.0"),
        "SKBUILD_STATE": "wheel",
        "Python_EXECUTABLE": sys.executable,
        "Python3_EXECUTABLE": sys.executable,
        "PYTHON_EXECUTABLE": sys.executable,
        **{name: _plain(value) for name, value in settings.get("define", {}).items()},
    }
    return [*(str(word) for word in settings.get("args", ())), *(f"-D{name}={value}" for name, value in values.items())]


def _plain(value: object) -> str:
    return {True: "ON", False: "OFF"}[value] if isinstance(value, bool) else str(value)


def _options(tree: Path, project: InstallRequest, platform: str) -> Sequence[str]:
    """The project's own switches for GPUs: those for CUDA in both runs, those for HIP in the ROCm run."""
    found: list[Command] = []
    for path in (*project.paths, *project.changed):
        name = PurePosixPath(path).name
        if (name == "CMakeLists.txt" or name.endswith(".cmake")) and (tree / path).is_file():
            found += commands((tree / path).read_bytes().decode("latin-1"))
    options = [one.words()[0] for one in found if one.name == "option" and one.words()]
    wanted = (_CUDA_OPTION, _HIP_OPTION) if platform == "rocm" else (_CUDA_OPTION,)
    switches = [f"-D{name}=ON" for name in options if any(one.match(name) for one in wanted)]
    return list(dict.fromkeys([*switches, *(f"-D{choice}" for choice in _backends(found, platform))]))


def _backends(found: Sequence[Command], platform: str) -> Iterator[str]:
    """`BACKEND=hip` for a cached variable that chooses between vendors: `set(BACKEND "cuda" CACHE STRING "...")`."""
    cached = [one.words() for one in found if one.name == "set" and one.words()[2:4] == ("CACHE", "STRING")]
    for name, default, *_ in cached:
        values = [default]
        for words in (one.words() for one in found if one.name in ("if", "elseif", "set_property")):
            if words[:4] == ("CACHE", name, "PROPERTY", "STRINGS"):
                values += ";".join(words[4:]).split(";")
            values += [
                value for first, how, value in _triples(words) if first.strip("${}") == name and how == "STREQUAL"
            ]
        cuda, hip = (next((one for one in values if one.lower() in names), None) for names in (_CUDA_NAMES, _HIP_NAMES))
        if cuda is not None and hip is not None:
            yield f"{name}={hip if platform == 'rocm' else cuda}"


def _triples(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    return zip(words, words[1:], words[2:], strict=False)
