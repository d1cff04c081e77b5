"""Checks a port, level by level: all that can run here, the rest reported as not run with what it would take."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import CheckResult, Finding, Patch, Status
from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.core.pages import page
from kernel_pytorch.core.project_code import is_project_code_forbidden
from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.jobs.scan import Selection, find_all
from kernel_pytorch.port.settings import checked_targets
from kernel_pytorch.verify.build_level import BuiltKernel, build_level
from kernel_pytorch.verify.install.record import InstallTrial
from kernel_pytorch.verify.install_level import install_level
from kernel_pytorch.verify.isolation import Isolation, IsolationReport, compare_trees
from kernel_pytorch.verify.isolation.trees import FolderTree, GitTree, Tree
from kernel_pytorch.verify.levels import LEVELS, NEEDS_PROJECT_CODE, LevelResult, Pyramid
from kernel_pytorch.verify.numerical_level import Numbers, numerical_level
from kernel_pytorch.verify.nvcc import compare_with_nvcc
from kernel_pytorch.verify.run_level import emulated_gpu_for, run_level
from kernel_pytorch.verify.settings import header_folders, read_verify_settings
from kernel_pytorch.verify.static_level import static_level
from kernel_pytorch.version import VERSION

# A 64-lane and a 32-lane GPU: what depends on the width shows.
DEFAULT_GPUS = ("mi300x", "rx7900xtx")
_LISTED = 5


@dataclass(frozen=True)
class Verification:
    """The pyramid and what its levels saw on the way: findings, file verdicts, kernels."""

    pyramid: Pyramid
    findings: tuple[Finding, ...]
    isolation: IsolationReport | None
    kernels: tuple[BuiltKernel, ...]
    patches: tuple[Patch, ...] = ()
    titles: tuple[tuple[str, str], ...] = ()  # of the codes that were found
    numbers: Numbers = Numbers()  # noqa: RUF009 (frozen)

    @property
    def where_it_ran(self) -> str:
        """One sentence on what is a result of an AMD GPU, and what is not."""
        on_amd = {one.checked_on["device_name"] for one in self.numbers.models if _on_amd_gpu(one.checked_on)}
        if on_amd:
            rest = "everything else was built, emulated, or run on this machine's own CPU"
            return f"On an AMD GPU ({', '.join(sorted(on_amd))}): the golden records of models; {rest}."
        return "Nothing here ran on an AMD GPU: it was built, emulated, or run on this machine's own CPU."


@dataclass(frozen=True)
class IsolationCheck:
    """The isolation proof between two trees, and what nvcc says about them where it was asked."""

    old: str
    new: str
    report: IsolationReport
    nvcc: tuple[CheckResult, ...] = ()

    @property
    def ok(self) -> bool:
        return self.report.proven and not any(check.status is Status.FAIL for check in self.nvcc)


def verify(
    path: Path | str,
    *,
    targets: Sequence[str] = (),
    levels: Sequence[str] = LEVELS,
    base: str | None = None,
    old: Path | str | None = None,
    only: Sequence[str] = (),
    progress: Callable[[str], None] = lambda text: None,
    include_dirs: Sequence[Path | str] = (),
) -> Verification:
    """Run the levels that are asked for, lowest first, on a ported project folder.

    - `path`: the ported project.
    - `targets`: GPUs to build and emulate for; gfx942 and gfx1100 by default.
    - `levels`: some of "isolation", "static", "install", "build", "run", "numerical". "install" runs the project's
      setup.py on a copy, without network.
    - `base`: the git revision before the port; HEAD by default, where the project is a repository.
    - `old`: the folder before the port, instead of a revision.
    - `only`: globs of sources; the build level compiles no others.
    - `progress`: called with the name of each level before it runs.
    - `include_dirs`: folders with headers of libraries, besides those in `[tool.kernel_pytorch.verify]`.
    """
    path = Path(path)
    default = tuple(gpu_by_alias(name).target.name for name in DEFAULT_GPUS)
    targets = checked_targets(targets, "targets") if targets else default
    unknown = [name for name in levels if name not in LEVELS]
    if unknown:
        raise UsageError(f"{unknown[0]!r} is not a level; expected {', '.join(LEVELS)}")
    before, new = _tree_before(path, base, old), FolderTree(path)
    root = path.resolve()  # levels start processes in the project's folder, where a relative path means another place
    settings = read_verify_settings(root)
    folders = [str(one) for one in header_folders(root, [Path(one) for one in include_dirs])]
    results: dict[str, LevelResult] = {}
    report: IsolationReport | None = None
    findings: tuple[Finding, ...] = ()
    kernels: tuple[BuiltKernel, ...] = ()
    numbers = Numbers()
    trials: tuple[InstallTrial, ...] = ()
    with TemporaryDirectory(prefix="kpt-install-") as scratch:
        for name in (level for level in LEVELS if level in levels):
            progress(name)
            if name == "isolation":
                results[name], report = _isolation(before, new)
            elif name == "static":
                project, found, _ = find_all(root, Selection())
                results[name] = static_level(project, found, before)
                findings += found
            elif name == "install":
                gpu = emulated_gpu_for(targets[0]) or gpu_by_alias(DEFAULT_GPUS[0])
                results[name], seen, trials = install_level(root, gpu.alias, Path(scratch))
                findings += seen
            elif name == "build":
                spec = settings.triton_spec
                results[name], kernels = build_level(root, targets, folders, spec, trials, only)
            elif is_project_code_forbidden():
                results[name] = LevelResult(name, (), NEEDS_PROJECT_CODE)
            elif name == "run":
                results[name] = run_level(root, settings, targets, before=before)
            else:
                results[name], numbers = numerical_level(root, settings, targets)
    pyramid = Pyramid(root.name, tuple(targets), tuple(results.values()), _environment())
    patches = _patches(root, report, before, new) if report is not None and before is not None else ()
    return Verification(pyramid, findings, report, kernels, patches, _titles(findings), numbers)


def check_isolation(
    path: Path | str,
    *,
    base: str | None = None,
    head: str | None = None,
    old: Path | str | None = None,
    nvcc_flags: Sequence[str] | None = None,
) -> IsolationCheck:
    """Only the proof that the NVIDIA path is unchanged, from `base` or `old` to `head` (None: the work tree).

    `nvcc_flags`: also compare what nvcc makes of every .cu file that changed; None leaves nvcc out.
    """
    path = Path(path)
    before: Tree = FolderTree(Path(old)) if old is not None else GitTree(path, base or "HEAD")
    after: Tree = GitTree(path, head) if head else FolderTree(path)
    checks = tuple(compare_with_nvcc(before, after, flags=nvcc_flags)) if nvcc_flags is not None else ()
    return IsolationCheck(before.name, after.name, compare_trees(before, after), checks)


def _tree_before(path: Path, base: str | None, old: Path | str | None) -> Tree | None:
    if old is not None:
        return FolderTree(Path(old))
    if base is not None:
        return GitTree(path, base)
    try:
        return GitTree(path, "HEAD")
    except UsageError:
        # Not a repository: the level says what it would take, the others still run.
        return None


def _on_amd_gpu(machine: dict[str, str]) -> bool:
    return bool(machine.get("hip")) and machine.get("device", "").startswith("cuda")


def _patches(root: Path, report: IsolationReport, old: Tree, new: Tree) -> tuple[Patch, ...]:
    """Every file that differs, before and after, in the form a page shows."""
    before, after = old.paths(), new.paths()
    # A submodule is a repository of its own: the revision before has no files of it to compare with.
    modules = root / ".gitmodules"
    named = re.findall(rb"^\s*path\s*=\s*(.+?)\s*$", read_if_there(modules, root) or b"", re.MULTILINE)
    nested = tuple(f"{name.decode('utf-8', 'replace').rstrip('/')}/" for name in named)
    paths = sorted({item.path for item in report.files if item.path in after and not item.path.startswith(nested)})
    return tuple(Patch(path, old.read(path) if path in before else None, new.read(path)) for path in paths)


def _titles(findings: Sequence[Finding]) -> tuple[tuple[str, str], ...]:
    found = {finding.code for finding in findings}
    pages = (page(code) for code in sorted(found))
    return tuple((one.code, one.title) for one in pages if one is not None)


def _isolation(old: Tree | None, new: Tree) -> tuple[LevelResult, IsolationReport | None]:
    if old is None:
        needs = "the project before the port: --base REV in a git repository, or --old DIR"
        return LevelResult("isolation", (), needs), None
    report = compare_trees(old, new)
    name = f"{old.name} to {new.name}"
    bad = [item for item in report.files if item.verdict in (Isolation.NOT_PROVEN, Isolation.CHANGED)]
    if bad:
        listed = "; ".join(str(item) for item in bad[:_LISTED])
        more = f"; and {len(bad) - _LISTED} more" if len(bad) > _LISTED else ""
        return LevelResult("isolation", (CheckResult(name, Status.FAIL, listed + more),)), report
    detail = f"{report.identical} files identical, {len(report.files)} changed and proven"
    return LevelResult("isolation", (CheckResult(name, Status.PASS, detail),)), report


def _environment() -> dict[str, str]:
    return {
        "kernel-pytorch": VERSION,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }
