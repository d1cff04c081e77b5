"""The port of a project: discover, rewrite, prove, install, build, repair; then write it, or a ported copy.

Every change sits behind a gate or in a new file. Before a patch is part of the result, the isolation check folds the
gates to "not ROCm" and compares with the original. A file that fails is left as it was and named in `refused`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import CheckResult, Finding, Held, Patch, Status, action
from kernel_pytorch.core.given_path import require_folder
from kernel_pytorch.core.inside import is_inside
from kernel_pytorch.core.pages import Page
from kernel_pytorch.core.unified_diff import unified_diff
from kernel_pytorch.jobs.added_files import ADDED, added_files
from kernel_pytorch.jobs.install_repair import PortInstall, install_port
from kernel_pytorch.jobs.proof import Proof, prove, verdict_on
from kernel_pytorch.jobs.repair import RepairRequest, build_and_repair
from kernel_pytorch.jobs.scan import Selection, file_counts
from kernel_pytorch.port.apply import apply_patches, copy_with_patches
from kernel_pytorch.port.builds.recorded_unit import RecordedUnit
from kernel_pytorch.port.discover import Project, Skipped, discover, list_files
from kernel_pytorch.port.layouts import LAYOUTS, layout_named
from kernel_pytorch.port.phases import Effort, Phase, effort, phases
from kernel_pytorch.port.project import PortOptions, choose_layout, port_project
from kernel_pytorch.port.settings import AUTO, checked_targets, without_excluded
from kernel_pytorch.port.source import C_SUFFIXES, CUDA_SUFFIXES
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain
from kernel_pytorch.verify.install.make_run import make_units
from kernel_pytorch.verify.install.run import ROCM_GPU
from kernel_pytorch.verify.isolation import FileVerdict
from kernel_pytorch.verify.levels import LevelResult
from kernel_pytorch.verify.run_level import emulated_gpu_for
from kernel_pytorch.verify.settings import header_folders


@dataclass(frozen=True)
class PortPlan:
    """What will be ported and how. `add` names files of ours, `build` says whether to install and build the result.

    `build_limit_s` is how long builds and repairs may take, `include_dirs` where they find headers of libraries.
    """

    project: Project
    options: PortOptions
    targets: tuple[str, ...]
    add: tuple[str, ...] = ()
    build: bool = True
    build_limit_s: float = math.inf
    include_dirs: tuple[Path, ...] = ()

    @property
    def layout(self) -> str:
        return self.options.layout


@dataclass(frozen=True)
class PortResult:
    """A port that is not written yet. `diff()` shows it, `write()` applies it, `write_copy(folder)` makes a copy.

    `patches` are proven to leave the NVIDIA path alone. `held` are edits that need a review. `checks` are the builds of
    what was ported; `not_built` says why there are none. `install` is the trial of the project's own build.
    """

    root: str
    layout: str
    targets: tuple[str, ...]
    files: dict[str, int]
    findings: tuple[Finding, ...]
    held: tuple[Held, ...]
    patches: tuple[Patch, ...]
    verdicts: tuple[FileVerdict, ...]
    checks: tuple[CheckResult, ...]
    not_built: str
    skipped: tuple[Skipped, ...]
    phases: tuple[Phase, ...]
    effort: Effort
    own_pages: tuple[Page, ...] = ()
    install: LevelResult = LevelResult("install")  # noqa: RUF009 (frozen)

    @property
    def refused(self) -> tuple[FileVerdict, ...]:
        """The files that could not be proven: they stay as they are."""
        return Proof(self.patches, self.verdicts).refused

    @property
    def left(self) -> tuple[Finding, ...]:
        """The findings that only a person can settle: a new file of the port settles the one that it was made for."""
        made = {(patch.path, code) for patch in self.patches if patch.before is None for code in patch.codes}
        codes = {code for _, code in made}
        left = (one for one in self.findings if action(one) == "a person" or not (one.edits or one.code in codes))
        return tuple(finding for finding in left if (f"{finding.path}.hip", finding.code) not in made)

    @property
    def ok(self) -> bool:
        """Nothing was refused, nothing failed to build, and nothing is left for a person."""
        failed = any(check.status is Status.FAIL for check in self.checks)
        return not (self.refused or failed or self.left or self.held)

    def diff(self) -> str:
        """All patches as a unified diff."""
        return "".join(map(unified_diff, self.patches))

    def write(self) -> None:
        """Apply the port to the project: all files or none. Raises UsageError where a file changed in between."""
        if layout_named(self.layout).writes_twins:
            raise UsageError(f"{self.root}: the copy layout has twins of headers under the same name: use write_copy()")
        apply_patches(Path(self.root), self.patches)

    def write_copy(self, folder: Path | str) -> None:
        """Make a ported copy of the project, without what git ignores. The folder must be new and lie outside."""
        root, out = Path(self.root), Path(folder)
        check_place_of_copy(root, out)
        copy_with_patches(root, list_files(root).names, self.patches, out)


def check_place_of_copy(root: Path, out: Path) -> None:
    """Raises UsageError for a folder that is there, or that would be part of the project from then on."""
    if out.exists():
        raise UsageError(f"{out}: already exists; name a folder that does not")
    if is_inside(out, root):
        raise UsageError(
            f"{out}: lies inside the project, {root}, whose next scan or port would take the copy for a part of it; "
            "name a folder outside"
        )


def port(
    path: Path | str,
    *,
    layout: str | None = None,
    targets: Sequence[str] | None = None,
    unsafe: bool | None = None,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    rules: Sequence[Path] | None = None,
    add: Sequence[str] = (),
    build: bool = True,
    wave: str = "logical32",
    workers: int | None = None,
    include_dirs: Sequence[Path | str] = (),
) -> PortResult:
    """Port a project folder and prove the port. It writes nothing until you call `result.write()`.

    - `path`: the project folder.
    - `layout`: "auto", "copy", "single-source" or "torch-extension".
    - `targets`: GPUs to build the ported sources for, such as "gfx942".
    - `unsafe`: apply edits that need a review as well.
    - `select`, `ignore`: codes or their beginnings; "KP3" is every rule on wave width.
    - `exclude`: globs of files to leave alone.
    - `rules`: YAML files with rules of your own.
    - `add`: files of ours to add: "fp8", "graph-check", "compile-guard".
    - `build`: try the install of what was ported and build it, where a HIP compiler is found. The install runs the
      project's setup.py and CMake files, on a copy and without network; KPT_NO_RUN=1 leaves it out.
    - `wave`: "logical32" keeps warps of 32 lanes, "native" widens where that is provably right.
    - `workers`: processes; all cores by default.
    - `include_dirs`: folders with headers of libraries, besides those in `[tool.kernel_pytorch.verify]`.

    What is None comes from `[tool.kernel_pytorch]` in the project's pyproject.toml. Raises UsageError for input that
    makes no sense.
    """
    selection = Selection(select, ignore, exclude, rules)
    return run_plan(
        plan_port(
            Path(path),
            selection,
            layout=layout,
            targets=targets,
            unsafe=unsafe,
            add=add,
            build=build,
            wave=wave,
            include_dirs=[Path(one) for one in include_dirs],
        ),
        workers,
    )


def plan_port(
    path: Path,
    selection: Selection = Selection(),  # noqa: B008 (frozen)
    *,
    layout: str | None = None,
    targets: Sequence[str] | None = None,
    unsafe: bool | None = None,
    add: Sequence[str] = (),
    build: bool = True,
    wave: str = "logical32",
    build_limit_s: float = math.inf,
    include_dirs: Sequence[Path] = (),
) -> PortPlan:
    """Discover the project and settle how to port it: what the caller says, else what the project's table says."""
    require_folder(path, f"name the project's folder, or translate the file alone: kpt hipify {path}")
    settings, rules = selection.over_the_table_of(path)
    chosen = layout or settings.layout
    if chosen not in (AUTO, *LAYOUTS):
        raise UsageError(f"layout {chosen!r} is not known: expected one of {', '.join((AUTO, *LAYOUTS))}")
    unknown = [name for name in add if name not in ADDED]
    if unknown:
        raise UsageError(f"add {unknown[0]!r} is not known: expected one of {', '.join(ADDED)}")
    project = without_excluded(discover(path), settings.exclude)
    options = PortOptions(
        choose_layout(project) if chosen == AUTO else chosen,
        wave,
        settings.unsafe if unsafe is None else unsafe,
        settings.select,
        settings.ignore,
        rules,
    )
    wanted = settings.targets if targets is None else checked_targets(targets, "targets")
    return PortPlan(
        project, options, wanted, tuple(add), build, build_limit_s, header_folders(project.root, include_dirs)
    )


def run_plan(
    plan: PortPlan, workers: int | None = None, progress: Callable[[str], None] = lambda text: None
) -> PortResult:
    """Rewrite, prove, install, build and repair. Writes nothing. `progress` is told what is being built."""
    project = plan.project
    rewritten = port_project(project, plan.options, workers)
    taken = {patch.path for patch in rewritten.patches}
    added = added_files(project, plan.add, taken) if plan.add else ()
    proof = prove((*rewritten.patches, *added))
    tried = _install(plan, proof.patches) if plan.build else PortInstall(proof.patches)
    proof = Proof(tried.patches, (*proof.refused, *(one for one in map(verdict_on, tried.patches) if one is not None)))
    recorded = _recorded(plan, tried)
    built = build_patches(plan, proof.patches, recorded, progress) if plan.build else PatchesBuilt(proof.patches)
    findings = (*rewritten.findings, *tried.findings, *built.findings)
    return PortResult(
        root=str(project.root),
        layout=plan.layout,
        targets=plan.targets,
        files=file_counts(project),
        findings=findings,
        held=rewritten.held,
        patches=built.patches,
        verdicts=(*proof.refused, *prove(built.patches).verdicts),
        checks=built.checks,
        not_built=built.reason,
        skipped=project.skipped,
        phases=phases(project, findings),
        effort=effort(findings),
        own_pages=tuple(rule.page() for rule in plan.options.user_rules),
        install=tried.level,
    )


def _install(plan: PortPlan, patches: tuple[Patch, ...]) -> PortInstall:
    """Try the install where the build description is part of the port."""
    if layout_named(plan.layout).writes_twins:
        return PortInstall(patches, (), LevelResult("install", (), "another layout than copy: its twins are not built"))
    if not plan.options.wants("KP810"):
        return PortInstall(patches)
    root = plan.project.root
    return install_port(root, tuple(list_files(root).names), patches, _gpu_for(plan))


def _recorded(plan: PortPlan, tried: PortInstall) -> tuple[RecordedUnit, ...]:
    """The sources that the project's own build names, with their flags.

    Torch's build names all there are. Outside it CMake's flags count, and those of Makefiles: make reads the original,
    since nvcc is what that names.
    """
    if not plan.build or layout_named(plan.layout).is_built_by_torch:
        return tried.units
    with TemporaryDirectory(prefix="kpt-make-") as scratch:
        by_make = make_units(plan.project.root, tuple(list_files(plan.project.root).names), Path(scratch))
    return (*by_make, *tried.plain_units, *tried.units)


@dataclass(frozen=True)
class PatchesBuilt:
    """The patches, repaired where the compiler objected; a result for every source and target, or why there is none."""

    patches: tuple[Patch, ...]
    checks: tuple[CheckResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    reason: str = ""


def build_patches(
    plan: PortPlan,
    patches: tuple[Patch, ...],
    recorded: tuple[RecordedUnit, ...] = (),
    progress: Callable[[str], None] = lambda text: None,
) -> PatchesBuilt:
    """Build what was ported, and repair what the compiler objects to. `recorded`: what the project's build names."""
    # A torch extension's .cu may stay as it is where only its headers are ported.
    is_built_by_torch = layout_named(plan.layout).is_built_by_torch
    suffixes = (".cu", ".hip", *((C_SUFFIXES | CUDA_SUFFIXES) if is_built_by_torch else ()))
    sources = plan.project.of("cuda") if is_built_by_torch else ()
    if not any(path.endswith(suffixes) for path in (*sources, *(patch.path for patch in patches))):
        return PatchesBuilt(patches)
    try:
        toolchain = find_toolchain()
    except ToolchainNotFoundError as error:
        return PatchesBuilt(patches, reason=str(error))
    request = RepairRequest(
        plan.project, plan.layout, plan.targets, recorded, plan.options.wants, plan.build_limit_s, plan.include_dirs
    )
    done = build_and_repair(request, patches, toolchain, progress)
    return PatchesBuilt(done.patches, done.checks, done.findings)


def _gpu_for(plan: PortPlan) -> str:
    """The GPU that is stood in for while setup.py runs."""
    gpu = emulated_gpu_for(plan.targets[0])
    return gpu.alias if gpu is not None else ROCM_GPU
