"""What a port has to deal with: findings with their places, the phases to run, the effort. Changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_pytorch.core.findings import Finding
from kernel_pytorch.core.pages import Page
from kernel_pytorch.port.discover import Project, Skipped, discover
from kernel_pytorch.port.phases import Effort, Phase, effort, phases
from kernel_pytorch.port.project import PortOptions, choose_layout, port_project
from kernel_pytorch.port.settings import PortSettings, checked_codes, read_settings, without_excluded
from kernel_pytorch.port.user_rules import UserRule, load_user_rules


@dataclass(frozen=True)
class Selection:
    """Which codes and files a caller asks for. None: what `[tool.kernel_pytorch]` of the project says."""

    select: Sequence[str] | None = None
    ignore: Sequence[str] | None = None
    exclude: Sequence[str] | None = None
    rules: Sequence[Path] | None = None

    def over_the_table_of(self, path: Path) -> tuple[PortSettings, tuple[UserRule, ...]]:
        """The project's table with what the caller says in its place, and the user's own rules."""
        settings = read_settings(path)
        if self.select is not None:
            settings = replace(settings, select=checked_codes(self.select, "select"))
        if self.ignore is not None:
            settings = replace(settings, ignore=checked_codes(self.ignore, "ignore"))
        if self.exclude is not None:
            settings = replace(settings, exclude=tuple(self.exclude))
        return settings, load_user_rules(tuple(self.rules) if self.rules is not None else settings.rules)


@dataclass(frozen=True)
class ScanResult:
    """What was found. `files` counts by language; `own_pages` are the pages of the user's own rules."""

    root: str
    files: dict[str, int]
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    phases: tuple[Phase, ...]
    effort: Effort
    own_pages: tuple[Page, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.findings


def scan(
    path: Path | str,
    *,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    rules: Sequence[Path] | None = None,
    wave: str = "logical32",
    workers: int | None = None,
) -> ScanResult:
    """Scan a project folder or one file. Raises UsageError for a path or a selection that makes no sense."""
    path = Path(path)
    project, findings, own = find_all(path, Selection(select, ignore, exclude, rules), wave, workers)
    return ScanResult(
        str(path),
        file_counts(project),
        findings,
        project.skipped,
        phases(project, findings),
        effort(findings),
        tuple(rule.page() for rule in own),
    )


def find_all(
    path: Path, selection: Selection, wave: str = "logical32", workers: int | None = None
) -> tuple[Project, tuple[Finding, ...], tuple[UserRule, ...]]:
    """Discover a project and run every rule over it: its files, the findings, and the user's own rules."""
    project = discover(path)
    settings, rules = selection.over_the_table_of(path)
    project = without_excluded(project, settings.exclude if path.is_dir() else ())
    options = PortOptions(
        choose_layout(project), wave, False, settings.select, settings.ignore, rules, findings_only=True
    )
    return project, port_project(project, options, workers).findings, rules


def file_counts(project: Project) -> dict[str, int]:
    """The number of files by language."""
    return {language: len(paths) for language, paths in project.files.items()}


def unfit_dependencies(path: Path | str) -> tuple[str, ...]:
    """The declared packages that a ROCm machine must not install as they are."""
    from kernel_pytorch.port.deps.plan import names_to_settle

    return names_to_settle(Path(path)) if Path(path).is_dir() else ()
