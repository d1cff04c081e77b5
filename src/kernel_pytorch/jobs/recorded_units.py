"""The sources that a ported project's own build names, and their flags: setup.py tells, for a stood-in ROCm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from kernel_pytorch.core.findings import Patch
from kernel_pytorch.core.project_code import is_project_code_forbidden
from kernel_pytorch.port.apply import copy_with_patches
from kernel_pytorch.port.builds.recorded_unit import RecordedUnit
from kernel_pytorch.port.discover import Project, list_files
from kernel_pytorch.toolchain.torch_headers import TorchHeadersError, installed_torch
from kernel_pytorch.verify.install.record import InstallTrial
from kernel_pytorch.verify.install.run import InstallRequest, InstallWorker, try_installs
from kernel_pytorch.verify.install.units import recorded_extension
from kernel_pytorch.verify.install_level import setup_files


def recorded_units(project: Project, patches: Sequence[Patch], gpu: str) -> tuple[RecordedUnit, ...]:
    """The units of every setup.py that runs to its end. None where code of the project must not run."""
    if is_project_code_forbidden() or not setup_files(project.root, tuple(list_files(project.root).names)):
        return ()
    try:
        installed_torch()
    except TorchHeadersError:
        return ()
    with TemporaryDirectory(prefix="kpt-recorded-") as folder:
        scratch = Path(folder).resolve()
        root = scratch / "ported"
        copy_with_patches(project.root, list_files(project.root).names, patches, root)
        paths = tuple(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
        setups = setup_files(root, paths)
        requests = [InstallRequest(root, paths, PurePosixPath(setup).parent.as_posix()) for setup in setups]
        with InstallWorker(scratch) as worker:
            trials = try_installs(requests, gpu, worker)
        return tuple(unit for trial in trials for unit in units_of(trial, root))


def units_of(trial: InstallTrial, root: Path) -> tuple[RecordedUnit, ...]:
    """What one trial names. Nothing where setup.py failed: what it would build is then not known."""
    if trial.rocm.failure is not None:
        return ()
    try:
        units = recorded_extension(trial, root).units
    except TorchHeadersError:
        return ()
    return tuple(RecordedUnit(path, trial.tree, options) for path, options in units.items())
