"""`kpt verify`: every level that can run here, the rest reported as not run with what it would take."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.findings import CheckResult, Finding, Patch, Status
from kernel_pytorch.port.rules import page
from kernel_pytorch.verify.build_level import BuiltKernel, build_level
from kernel_pytorch.verify.isolation import IsolationReport, Verdict, compare_trees
from kernel_pytorch.verify.isolation.trees import Tree
from kernel_pytorch.verify.levels import LevelResult, Pyramid
from kernel_pytorch.verify.numerical_level import numerical_level
from kernel_pytorch.verify.run_level import run_level
from kernel_pytorch.verify.settings import VerifySettings, read_verify_settings
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


def verify_project(
    root: Path,
    targets: Sequence[str],
    old: Tree | None,
    new: Tree,
    levels: Sequence[str],
    progress: Callable[[str], None] = lambda text: None,
) -> Verification:
    """Run the levels that are asked for, lowest first. `old` None: there is nothing to compare the project with."""
    settings = read_verify_settings(root)
    results: dict[str, LevelResult] = {name: LevelResult(name, (), "asked for by --level") for name in levels}
    report: IsolationReport | None = None
    findings: tuple[Finding, ...] = ()
    kernels: tuple[BuiltKernel, ...] = ()
    for name in levels:
        progress(name)
        if name == "isolation":
            results[name], report = _isolation(old, new)
        elif name == "static":
            results[name], findings = static_level(root)
        elif name == "build":
            results[name], kernels = build_level(root, targets)
        else:
            results[name] = _last_levels(name, root, settings, targets)
    pyramid = Pyramid(root.resolve().name, tuple(targets), tuple(results[name] for name in results), _environment())
    patches = _patches(report, old, new) if report is not None and old is not None else ()
    return Verification(pyramid, findings, report, kernels, patches, _titles(findings))


def _patches(report: IsolationReport, old: Tree, new: Tree) -> tuple[Patch, ...]:
    """Every file that differs, before and after, in the form a page shows."""
    before, after = old.paths(), new.paths()
    paths = sorted({item.path for item in report.files if item.path in after})
    return tuple(Patch(path, old.read(path) if path in before else None, new.read(path)) for path in paths)


def _titles(findings: Sequence[Finding]) -> tuple[tuple[str, str], ...]:
    found = {finding.code for finding in findings}
    pages = (page(code) for code in sorted(found))
    return tuple((one.code, one.title) for one in pages if one is not None)


def _last_levels(name: str, root: Path, settings: VerifySettings, targets: Sequence[str]) -> LevelResult:
    if name == "run":
        return run_level(root, settings, targets)
    return numerical_level(root, settings)


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
        "GPU": "none was used: what ran here was built, emulated or run on the CPU",
    }
