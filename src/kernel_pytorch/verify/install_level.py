"""Install level: the project's setup.py runs with a ROCm that is stood in for, and loses nothing on the way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernel_pytorch.core.findings import CheckResult, Finding, Status
from kernel_pytorch.port.discover import listed_files
from kernel_pytorch.toolchain.find import Toolchain, ToolchainNotFoundError, find_toolchain
from kernel_pytorch.toolchain.torch_headers import TorchHeadersError, installed_torch
from kernel_pytorch.verify.install.judge import SETUP, judged, not_judged
from kernel_pytorch.verify.install.record import InstallRecord, Place
from kernel_pytorch.verify.install.run import InstallTrial, try_install
from kernel_pytorch.verify.install.units import read_flags, refused_flags
from kernel_pytorch.verify.levels import LevelResult

NAME = "setup.py under a stood-in ROCm"


def install_level(root: Path, gpu: str, scratch: Path) -> tuple[LevelResult, tuple[Finding, ...], InstallTrial | None]:
    """Try the install of a project. This runs the project's own code. The trial's files are below `scratch`."""
    if not (root / SETUP).is_file():
        return _level(CheckResult(NAME, Status.PASS, "the project has no setup.py")), (), None
    try:
        installed_torch()
    except TorchHeadersError as error:
        return LevelResult("install", (), str(error)), (), None
    trial = try_install(root, listed_files(root), gpu, scratch)
    level, findings = judged_level(trial, scratch)
    return level, findings, trial


def judged_level(trial: InstallTrial, scratch: Path) -> tuple[LevelResult, tuple[Finding, ...]]:
    """What a trial comes to."""
    reason = not_judged(trial.cuda)
    if reason:
        return _level(CheckResult(NAME, Status.NOT_RUN, reason)), ()
    findings = (*judged(trial.cuda, trial.rocm), *_flag_findings(trial.rocm, scratch))
    if findings:
        return _level(*(CheckResult(NAME, Status.FAIL, str(one), one.code) for one in findings)), findings
    return _level(CheckResult(NAME, Status.PASS, _summary(trial.rocm))), ()


def _level(*checks: CheckResult) -> LevelResult:
    return LevelResult("install", checks)


def _summary(rocm: InstallRecord) -> str:
    if not rocm.extensions:
        return "runs to its end; it builds no extension, on CUDA neither"
    units = sum(command.is_gpu for command in rocm.compiles)
    return f"{len(rocm.extensions)} extensions, {units} GPU sources of {len(rocm.compiles)}, as on CUDA"


def _flag_findings(rocm: InstallRecord, scratch: Path) -> Sequence[Finding]:
    """Flags that the HIP compiler refuses. Without a compiler here nothing is said: the build level says that."""
    try:
        toolchain: Toolchain = find_toolchain()
    except ToolchainNotFoundError:
        return ()
    found: dict[tuple[str, str], Finding] = {}
    tried: set[tuple[str, ...]] = set()
    places = {extension.name: extension.made_at or Place(SETUP, 1) for extension in rocm.extensions}
    for command in rocm.compiles:
        flags = read_flags(command.words, lambda name: ())
        if not command.is_gpu or flags.plain in tried:
            continue
        tried.add(flags.plain)
        for flag in refused_flags(flags, toolchain, scratch):
            place = places.get(command.extension, Place(SETUP, 1))
            message = f"{command.extension} passes {flag}, which hipcc refuses"
            found[command.extension, flag] = Finding("KP814", place.path, place.line, 1, message)
    return tuple(found.values())
