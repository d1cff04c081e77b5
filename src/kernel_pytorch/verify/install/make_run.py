"""Asks make what it would run, on a copy of the project with a stood-in CUDA: the flags of each source that nvcc gets.

Nothing is built. make still runs what a Makefile runs while it is read (`$(shell ...)`), so this is the project's code.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.core.process import run_child
from kernel_pytorch.core.project_code import is_project_code_forbidden, require_project_code
from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.port.build_files.make_commands import MakeUnit, gpu_switches, nvcc_units
from kernel_pytorch.port.build_files.makefile import uses_nvcc
from kernel_pytorch.port.builds.recorded_unit import RecordedUnit, plain_unit
from kernel_pytorch.verify.install.run import CUDA_GPU, InstallRequest, prepare

TIMEOUT_S = 60.0
_NAMES = ("GNUmakefile", "makefile", "Makefile")  # in the order in which make looks for them
_FOREIGN = re.compile(r"(?:^|/)(?:third_party|thirdparty|3rdparty|external|extern|vendor)/", re.IGNORECASE)


def make_units(
    root: Path, paths: Sequence[str], scratch: Path, changed: Mapping[str, bytes] | None = None
) -> tuple[RecordedUnit, ...]:
    """Each .cu source that a Makefile of the project compiles, with the macros and folders it is given.

    Nothing where the project's code must not run, where there is no make, or where make says nothing.
    """
    found = _makefiles(root, paths)
    if not found or shutil.which("make") is None or is_project_code_forbidden():
        return ()
    units: dict[str, RecordedUnit] = {}
    for path in found:
        at = PurePosixPath(path)
        request = InstallRequest(root, tuple(paths), at.parent.as_posix(), changed or {}, at.name)
        place, environment = prepare(scratch, request, "cuda", gpu_by_alias(CUDA_GPU))
        tree = (place / "tree").resolve()
        for one in _asked(tree / at.parent, at.name, environment):
            source = one.source.resolve()
            if source.is_file() and source.is_relative_to(tree):
                name = source.relative_to(tree).as_posix()
                folders = [folder.resolve() for folder in one.include_dirs]
                units.setdefault(name, plain_unit(name, tree, one.defines, folders, one.included, one.std))
    return tuple(units.values())


def _makefiles(root: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """The Makefiles that name nvcc, one for each folder, the outer ones first."""
    listed = set(paths)
    folders = {PurePosixPath(path).parent for path in paths if PurePosixPath(path).name in _NAMES}
    first = [next(str(folder / name) for name in _NAMES if str(folder / name) in listed) for folder in folders]
    own = [path for path in first if not _FOREIGN.search(path)]
    own = [path for path in own if uses_nvcc((read_if_there(root / path, root) or b"").decode("latin-1"))]
    return tuple(sorted(own, key=lambda path: (path.count("/"), path)))


def _asked(folder: Path, name: str, environment: Mapping[str, str]) -> tuple[MakeUnit, ...]:
    """What make would compile as it stands; where that is nothing for the GPU, with the GPU switched on."""
    units = _dry_run(folder, name, (), environment)
    switches = gpu_switches((folder / name).read_bytes().decode("latin-1"))
    return units or (_dry_run(folder, name, switches, environment) if switches else ())


def _dry_run(folder: Path, name: str, switches: Sequence[str], environment: Mapping[str, str]) -> tuple[MakeUnit, ...]:
    require_project_code("make")
    # -k: what a missing file stops need not stop the rest. MAKEFLAGS: none of a make that called us.
    command = ["make", "-f", name, "--dry-run", "--print-directory", "--always-make", "-k", *switches]
    env = {**environment, "LC_ALL": "C", "MAKEFLAGS": ""}
    try:
        done = run_child(command, cwd=folder, timeout_s=TIMEOUT_S, env=env)
    except subprocess.TimeoutExpired:
        return ()
    return nvcc_units(done.stdout, folder)
