"""`kpt verify`: every level that can run here, the rest reported as not run with what it would take."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.findings import CheckResult, Finding, Patch, Status
from kernel_pytorch.core.project_code import is_project_code_forbidden
from kernel_pytorch.port.rules import page
from kernel_pytorch.verify.build_level import BuiltKernel, build_level
from kernel_pytorch.verify.isolation import IsolationReport, Verdict, compare_trees
from kernel_pytorch.verify.isolation.trees import Tree
from kernel_pytorch.verify.levels import RUNS_PROJECT_CODE, LevelResult, Pyramid
from kernel_pytorch.verify.numerical_level import Numbers, numerical_level
from kernel_pytorch.verify.run_level import run_level
from kernel_pytorch.verify.settings import read_verify_settings
from kernel_pytorch.verify.static_level import static_level

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


def verify_project(
    root: Path,
    targets: Sequence[str],
    old: Tree | None,
    new: Tree,
    levels: Sequence[str],
    progress: Callable[[str], None] = lambda text: None,
) -> Verification:
    """Run the levels that are asked for, lowest first. `old` None: there is nothing to compare the project with."""
    root = root.resolve()  # levels start processes in the project's folder, where a relative path means another place
    settings = read_verify_settings(root)
    results: dict[str, LevelResult] = {name: LevelResult(name, (), "asked for by --level") for name in levels}
    report: IsolationReport | None = None
    findings: tuple[Finding, ...] = ()
    kernels: tuple[BuiltKernel, ...] = ()
    numbers = Numbers()
    for name in levels:
        progress(name)
        if name == "isolation":
            results[name], report = _isolation(old, new)
        elif name == "static":
            results[name], findings = static_level(root)
        elif name == "build":
            results[name], kernels = build_level(root, targets, settings.include_dirs, settings.triton_spec)
        elif name in RUNS_PROJECT_CODE and is_project_code_forbidden():
            results[name] = LevelResult(name, (), "leave --no-run out: this level runs the project's own code")
        elif name == "run":
            results[name] = run_level(root, settings, targets)
        else:
            results[name], numbers = numerical_level(root, settings, targets)
    pyramid = Pyramid(root.name, tuple(targets), tuple(results[name] for name in results), _environment())
    patches = _patches(root, report, old, new) if report is not None and old is not None else ()
    return Verification(pyramid, findings, report, kernels, patches, _titles(findings), numbers)


def _on_amd_gpu(machine: dict[str, str]) -> bool:
    return bool(machine.get("hip")) and machine.get("device", "").startswith("cuda")


def _patches(root: Path, report: IsolationReport, old: Tree, new: Tree) -> tuple[Patch, ...]:
    """Every file that differs, before and after, in the form a page shows."""
    before, after = old.paths(), new.paths()
    # A submodule is a repository of its own: the revision before has no files of it to compare with.
    modules = root / ".gitmodules"
    named = re.findall(rb"^\s*path\s*=\s*(.+?)\s*$", modules.read_bytes(), re.MULTILINE) if modules.is_file() else []
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
    bad = [item for item in report.files if item.verdict in (Verdict.NOT_PROVEN, Verdict.CHANGED)]
    if bad:
        listed = "; ".join(str(item) for item in bad[:_LISTED])
        more = f"; and {len(bad) - _LISTED} more" if len(bad) > _LISTED else ""
        return LevelResult("isolation", (CheckResult(name, Status.FAIL, listed + more),)), report
    detail = f"{report.identical} files identical, {len(report.files)} changed and proven"
    return LevelResult("isolation", (CheckResult(name, Status.PASS, detail),)), report


def _environment() -> dict[str, str]:
    from kernel_pytorch.version import VERSION

    return {
        "kernel-pytorch": VERSION,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }
