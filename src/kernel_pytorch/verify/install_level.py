"""Install level: every setup.py runs with a ROCm that is stood in for, and loses nothing on the way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.findings import CheckResult, Finding, Status
from kernel_pytorch.core.project_code import is_project_code_forbidden
from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.port.discover import list_files
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain
from kernel_pytorch.toolchain.torch_headers import TorchHeadersError, installed_torch
from kernel_pytorch.verify.install.judge import judged, made_at, not_judged
from kernel_pytorch.verify.install.record import InstallRecord, InstallTrial
from kernel_pytorch.verify.install.run import InstallRequest, try_installs
from kernel_pytorch.verify.install.units import read_flags, refused_flags
from kernel_pytorch.verify.levels import NEEDS_PROJECT_CODE, LevelResult

# What a project brings along is not its own to install.
_FOREIGN = frozenset({"third_party", "thirdparty", "3rdparty", "submodules", "external", "extern", "vendor"})


def setup_files(root: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """The setup.py files of a project that build extensions."""
    named = (path for path in paths if PurePosixPath(path).name == "setup.py")
    own = (path for path in named if not _FOREIGN.intersection(part.lower() for part in PurePosixPath(path).parts))
    return tuple(sorted(path for path in own if b"xtension" in (read_if_there(root / path, root) or b"")))


def install_level(
    root: Path, gpu: str, scratch: Path
) -> tuple[LevelResult, tuple[Finding, ...], tuple[InstallTrial, ...]]:
    """Try the install of a project. This runs the project's own code. The trials' files are below `scratch`."""
    paths = tuple(list_files(root).names)
    setups = setup_files(root, paths)
    if not setups:
        check = CheckResult("setup.py", Status.PASS, "the project has no setup.py that builds an extension")
        return LevelResult("install", (check,)), (), ()
    reason = not_possible()
    if reason:
        return LevelResult("install", (), reason), (), ()
    requests = [InstallRequest(root, paths, PurePosixPath(setup).parent.as_posix()) for setup in setups]
    trials = try_installs(requests, gpu, scratch)
    results = [judged_trial(trial, scratch) for trial in trials]
    checks = tuple(check for found, _ in results for check in found)
    return LevelResult("install", checks), tuple(one for _, findings in results for one in findings), trials


def not_possible() -> str:
    """Why no install can be tried here; empty where one can."""
    if is_project_code_forbidden():
        return NEEDS_PROJECT_CODE
    try:
        installed_torch()
    except TorchHeadersError as error:
        return str(error)
    return ""


def judged_trial(trial: InstallTrial, scratch: Path) -> tuple[tuple[CheckResult, ...], tuple[Finding, ...]]:
    """What a trial comes to."""
    name = f"{trial.setup} under a stood-in ROCm"
    reason = not_judged(trial.cuda)
    if reason:
        return (CheckResult(name, Status.NOT_RUN, reason),), ()
    findings = (*judged(trial), *_flag_findings(trial, scratch))
    if findings:
        return tuple(CheckResult(name, Status.FAIL, str(one), one.code) for one in findings), findings
    return (CheckResult(name, Status.PASS, _summary(trial.rocm)),), ()


def _summary(rocm: InstallRecord) -> str:
    if not rocm.extensions:
        return "runs to its end; it builds no extension, on CUDA neither"
    units = sum(command.is_gpu for command in rocm.compiles)
    return f"{len(rocm.extensions)} extensions, {units} GPU sources of {len(rocm.compiles)}, as on CUDA"


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
