"""Install level: every setup.py and CMake project runs with a stood-in ROCm, and loses nothing on the way."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import CheckResult, Finding, Status
from kernel_pytorch.core.project_code import is_project_code_forbidden
from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.core.toml_file import read_toml
from kernel_pytorch.port.build_files.cmake_text import commands
from kernel_pytorch.port.discover import list_files
from kernel_pytorch.port.python.install_gates import vendor_is_chosen_at
from kernel_pytorch.port.python.module import python_module
from kernel_pytorch.port.python.setup_scripts import builds_extensions
from kernel_pytorch.port.source import source_file
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain
from kernel_pytorch.toolchain.torch_headers import TorchHeadersError, installed_torch
from kernel_pytorch.verify.install.cmake_run import configure_on_both
from kernel_pytorch.verify.install.cmake_tools import real_cmake
from kernel_pytorch.verify.install.jit import build_calls
from kernel_pytorch.verify.install.judge import judged, made_at, not_judged
from kernel_pytorch.verify.install.parting import partings
from kernel_pytorch.verify.install.record import Condition, InstallRecord, InstallTrial
from kernel_pytorch.verify.install.run import InstallRequest, InstallWorker, try_installs
from kernel_pytorch.verify.install.units import read_flags, refused_flags
from kernel_pytorch.verify.levels import NEEDS_PROJECT_CODE, NOTHING_TO_CHECK, LevelResult

# What a project brings along is not its own to install.
_FOREIGN = frozenset({"third_party", "thirdparty", "3rdparty", "external", "extern", "vendor"})
# Those that only pack Python files build nothing.
_TRIED_BACKENDS = frozenset(
    {"setuptools", "scikit_build_core", "skbuild", "hatchling", "flit_core", "flit_scm", "poetry", "pdm", "uv_build"}
)
_GPU_LANGUAGE = re.compile(rb"\b(?:CUDA|HIP|cuda_add_\w+|CUDAToolkit)\b|\.(?:cu|hip)\b")


def setup_files(root: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """The setup.py files of a project that build extensions, and those of another name, such as setup_cuda.py."""
    own = (path for path in paths if path.endswith(".py") and not _is_foreign(path))
    return tuple(sorted(path for path in own if builds_extensions(path, read_if_there(root / path, root) or b"")))


def cmake_files(root: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """The CMakeLists.txt files that begin a project of their own with GPU code in it."""
    own = [path for path in paths if PurePosixPath(path).name == "CMakeLists.txt" and not _is_foreign(path)]
    texts = {path: (read_if_there(root / path, root) or b"").decode("latin-1") for path in own}
    tops = [path for path in own if any(one.name == "project" for one in commands(texts[path]))]
    tops += [path for path in own if _is_project_without_name(path, own, tops)]
    first = [
        path
        for path in tops
        if not any((parent / "CMakeLists.txt").as_posix() in tops for parent in PurePosixPath(path).parent.parents)
    ]
    every = [path for path in paths if path.endswith(("CMakeLists.txt", ".cmake"))]
    return tuple(path for path in sorted(first) if any(_is_about_gpus(root, path, one) for one in every))


def _is_project_without_name(path: str, own: Sequence[str], named: Sequence[str]) -> bool:
    """A topmost file without project(), for which CMake makes one up, unless files below it have theirs."""
    folder = PurePosixPath(path).parent
    return not any((above / "CMakeLists.txt").as_posix() in own for above in folder.parents) and not any(
        PurePosixPath(one).is_relative_to(folder) for one in named
    )


def _is_about_gpus(root: Path, top: str, path: str) -> bool:
    is_below = PurePosixPath(path).is_relative_to(PurePosixPath(top).parent)
    return is_below and bool(_GPU_LANGUAGE.search(read_if_there(root / path, root) or b""))


def _is_foreign(path: str) -> bool:
    return bool(_FOREIGN.intersection(part.lower() for part in PurePosixPath(path).parts))


def jit_files(root: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """The modules that build an extension when they run."""
    named = (path for path in paths if path.endswith(".py") and PurePosixPath(path).name != "setup.py")
    own = {path: read_if_there(root / path, root) or b"" for path in named if not _is_foreign(path)}
    return tuple(
        sorted(
            path
            for path, data in own.items()
            if build_calls(path, data) is not None and not builds_extensions(path, data)
        )
    )


def requests_of(
    root: Path, paths: Sequence[str], changed: Mapping[str, bytes] | None = None
) -> tuple[InstallRequest, ...]:
    """What there is to try: setup.py files that build extensions, CMake projects with GPU code, builds at run time."""
    found = (*setup_files(root, paths), *cmake_files(root, paths), *jit_files(root, paths))
    return tuple(
        InstallRequest(
            root, tuple(paths), PurePosixPath(path).parent.as_posix(), changed or {}, PurePosixPath(path).name
        )
        for path in found
    )


def install_level(
    root: Path, gpu: str, scratch: Path
) -> tuple[LevelResult, tuple[Finding, ...], tuple[InstallTrial, ...]]:
    """Try the install of a project. This runs the project's own code. The trials' files are below `scratch`."""
    requests = requests_of(root, tuple(list_files(root).names))
    if not requests and not other_backends(root, list_files(root).names):
        detail = "the project has no setup.py that builds an extension, and no CMake project with GPU code"
        return LevelResult("install", (CheckResult(NOTHING_TO_CHECK, Status.PASS, detail),)), (), ()
    if is_project_code_forbidden():
        return LevelResult("install", (), NEEDS_PROJECT_CODE), (), ()
    with InstallWorker(scratch) as worker:
        trials, missing = try_all(requests, gpu, worker)
    missing += other_backends(root, list_files(root).names)
    results = [judged_trial(trial, scratch) for trial in trials]
    checks = (*(check for found, _ in results for check in found), *missing)
    return LevelResult("install", checks), tuple(one for _, findings in results for one in findings), trials


def other_backends(root: Path, paths: Sequence[str]) -> tuple[CheckResult, ...]:
    """A result for every pyproject.toml whose build backend is not tried, where it has CUDA sources to build."""
    kernels = [PurePosixPath(path) for path in paths if path.endswith(".cu")]
    found: list[CheckResult] = []
    for path in (one for one in paths if PurePosixPath(one).name == "pyproject.toml" and not _is_foreign(one)):
        try:
            backend = str(read_toml(root / path).get("build-system", {}).get("build-backend", "setuptools"))
        except UsageError:
            continue
        below = any(kernel.is_relative_to(PurePosixPath(path).parent) for kernel in kernels)
        if below and backend.partition(".")[0] not in _TRIED_BACKENDS:
            reason = f"the build backend {backend} is not tried: setuptools, CMake and scikit-build-core are"
            found.append(CheckResult(_name(path), Status.NOT_RUN, reason))
    return tuple(found)


def try_all(
    requests: Sequence[InstallRequest], gpu: str, worker: InstallWorker
) -> tuple[tuple[InstallTrial, ...], tuple[CheckResult, ...]]:
    """The trials of all requests in their order, and a result for each that cannot be tried here."""
    missing: list[CheckResult] = []
    cmakes = [one for one in requests if one.description == "CMakeLists.txt"]
    setups = [one for one in requests if one not in cmakes]
    reason = _no_torch() if setups else ""
    if reason:
        missing += [CheckResult(_name(one.described_by), Status.NOT_RUN, reason) for one in setups]
    tried = try_installs(setups, gpu, worker) if setups and not reason else ()
    trials = dict(zip(setups, tried, strict=False))
    if cmakes and real_cmake() is None:
        reason = "cmake is not installed here: pip install cmake"
        missing += [CheckResult(_name(one.described_by), Status.NOT_RUN, reason) for one in cmakes]
    else:
        trials |= {one: configure_on_both(one, gpu, worker.scratch) for one in cmakes}
    return tuple(trials[one] for one in requests if one in trials), tuple(missing)


def _name(description: str) -> str:
    return f"{description} under a stood-in ROCm"


def _no_torch() -> str:
    try:
        installed_torch()
    except TorchHeadersError as error:
        return str(error)
    return ""


def judged_trial(trial: InstallTrial, scratch: Path) -> tuple[tuple[CheckResult, ...], tuple[Finding, ...]]:
    """What a trial comes to."""
    name = _name(trial.setup)
    reason = not_judged(trial)
    if reason:
        return (CheckResult(name, Status.NOT_RUN, reason),), ()
    findings = (*judged(trial), *_flag_findings(trial, scratch))
    missed = tuple(CheckResult(name, Status.NOT_RUN, text) for text in trial.cuda.not_tried)
    if findings:
        checks = (
            CheckResult(name, Status.NOT_RUN, f"{one}; the author's own condition chooses by vendor", one.code)
            if one.code in ("KP811", "KP812") and is_authors_choice(trial, one)
            else CheckResult(name, Status.FAIL, str(one), one.code)
            for one in findings
        )
        return (*checks, *missed), findings
    if missed and not trial.rocm.extensions:
        return missed, ()
    unused = _unused_kernels(trial)
    if unused:
        reason = (
            f"nothing for GPUs is built, on CUDA neither, and {unused} .cu files lie beside it: see its own options"
        )
        return (CheckResult(name, Status.NOT_RUN, reason), *missed), ()
    return (CheckResult(name, Status.PASS, _summary(trial.rocm)), *missed), ()


def is_authors_choice(trial: InstallTrial, finding: Finding) -> bool:
    """Whether the runs part at a finding because the author asks for the vendor there: `if not ROCM_VERSION:`."""
    parted = [one.condition for one in partings(trial.cuda, trial.rocm) if one.condition.kind == "test"]
    here = [one for one in parted if (one.path, one.line) == (finding.path, finding.line)]
    return bool(here) and all(_asks_for_vendor(trial.tree, one) for one in here)


def _asks_for_vendor(tree: Path, condition: Condition) -> bool:
    module = python_module(source_file(condition.path, read_if_there(tree / condition.path, tree) or b""))
    place = (condition.line, condition.column, condition.end_line, condition.end_column)
    return module is not None and vendor_is_chosen_at(module, place)


def _unused_kernels(trial: InstallTrial) -> int:
    """How many CUDA sources a build description has below its folder, where it uses none of them."""
    if any(command.is_gpu for command in trial.cuda.compiles):
        return 0
    folder = trial.tree / PurePosixPath(trial.setup).parent
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*.cu"))
    return sum(not _is_foreign(path) for path in found)


def _summary(rocm: InstallRecord) -> str:
    if not rocm.extensions:
        return "runs to its end; it builds no extension, on CUDA neither"
    units = sum(command.is_gpu for command in rocm.compiles)
    kind = "target" if rocm.extensions[0].kind.startswith("cmake") else "extension"
    built, sources = counted(len(rocm.extensions), kind), counted(len(rocm.compiles), "source")
    return f"{built}, {sources}, {units} for the GPU, as on CUDA"


def _flag_findings(trial: InstallTrial, scratch: Path) -> tuple[Finding, ...]:
    """Flags that the HIP compiler refuses. Without a compiler here nothing is said: the build level says that."""
    try:
        toolchain = find_toolchain()
    except ToolchainNotFoundError:
        return ()
    found: list[Finding] = []
    tried: set[tuple[str, ...]] = set()
    extensions = {extension.name: extension for extension in trial.rocm.extensions}
    for command in trial.rocm.compiles:
        flags = read_flags(command.words, lambda name: ())
        if not command.is_gpu or flags.plain in tried:
            continue
        tried.add(flags.plain)
        place = made_at(trial, extensions[command.extension])
        for flag in refused_flags(flags, toolchain, scratch):
            message = f"{command.extension} passes {flag}, which hipcc refuses"
            found.append(Finding("KP814", place.path, place.line, 1, message))
    return tuple(found)
