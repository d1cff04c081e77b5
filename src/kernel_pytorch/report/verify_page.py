"""`kpt verify --html`: the ladder of levels, what is left to do, what was changed and why, what was built and run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernel_pytorch.core.findings import Finding, Patch, Status, action
from kernel_pytorch.jobs.verify import Verification
from kernel_pytorch.report.check_groups import check_groups
from kernel_pytorch.report.error_plot import model_panel, page_plot, program_panel
from kernel_pytorch.report.kernel_comparison_text import buffer_line, telling_first
from kernel_pytorch.report.page import render, write_page
from kernel_pytorch.report.side_by_side import Row, side_by_side
from kernel_pytorch.toolchain.demangle import short_name
from kernel_pytorch.verify.build_level import BuiltKernel
from kernel_pytorch.verify.golden.check import GoldenCheck
from kernel_pytorch.verify.kernels.record_comparison import KernelComparison, LaunchResult

TODO = (
    ("a person decides", "No edit is right without knowing what the code is for."),
    ("review, then `kpt port --unsafe`", "An edit is known; whether it may be applied is for a person to say."),
    ("run `kpt port --write`", "The edit is proven; it was not applied yet."),
)
_LAUNCHES_SHOWN = 500
_NEW_FILE_ROWS = 200
_ROWS_OPEN = 600
_LOOKED_AT = 8192
_NAME_SHOWN = 200
_BAD = (Status.FAIL, Status.WARN, Status.NOT_RUN)


def write_verify_page(done: Verification, path: Path) -> None:
    """Write the page. Raises UsageError where it cannot be made or written."""
    write_page(verify_page(done), path)


def verify_page(done: Verification) -> str:
    """The page as text."""
    diffs = [(patch, _rows(patch), _reasons(patch, done)) for patch in done.patches]
    groups = [(level.level, check_groups(level.checks)) for level in done.pyramid.levels if level.checks]
    failed = [(level, group) for level, found in groups for group in found if group.status in _BAD]
    titles = dict(done.titles)
    codes = Counter(finding.code for finding in done.findings)
    return render(
        "verify.html.j2",
        done=done,
        todo=_todo(done.findings),
        diffs=diffs,
        open_diffs=sum(len(rows) for _, rows, _ in diffs) <= _ROWS_OPEN,
        titles=titles,
        codes=[(code, number, titles.get(code, "")) for code, number in codes.most_common()],
        checks=groups,
        failed=sorted(failed, key=lambda row: _BAD.index(row[1].status)),
        kernels=_kernels(done.kernels),
        models=_models(done.numbers.models),
        programs=[(one, page_plot(program_panel(one)), _launch_rows(one)) for one in done.numbers.programs],
    )


def _rows(patch: Patch) -> list[Row]:
    """Both columns of a patch; of a file that is new, or that is no text, only as much as a reader needs."""
    if b"\0" in patch.after[:_LOOKED_AT]:
        return [Row("gap", new=f"not text: {len(patch.after):,} bytes")]
    rows = side_by_side(patch)
    if patch.before is None and len(rows) > _NEW_FILE_ROWS:
        return [
            *rows[:_NEW_FILE_ROWS],
            Row("gap", new=f"... and {len(rows) - _NEW_FILE_ROWS} more lines of a new file"),
        ]
    return rows


def _kernels(built: tuple[BuiltKernel, ...]) -> list[tuple[str, bool, list[tuple[str, BuiltKernel]]]]:
    """The project's own kernels, and apart from them those that a library's headers brought in."""
    ordered = sorted(built, key=lambda one: (one.source, one.resources.name, one.target))
    named = [(_short(short_name(kernel.resources.name)), kernel) for kernel in ordered]
    own = [row for row in named if not _is_library(row[1])]
    brought = [row for row in named if _is_library(row[1])]
    groups = [("of the project", True, own), ("of libraries that it includes", False, brought)]
    return [group for group in groups if group[2]]


def _is_library(kernel: BuiltKernel) -> bool:
    head = kernel.resources.name.partition("(")[0].removeprefix("void ")
    return head.startswith(("rocprim::", "hipcub::", "thrust::", "rocthrust::", "cub::"))


def _short(name: str) -> str:
    return name if len(name) <= _NAME_SHOWN else f"{name[: _NAME_SHOWN - 40]} ... {name[-36:]}"


def _models(results: tuple[GoldenCheck, ...]) -> list[tuple[GoldenCheck, Any, str]]:
    """Each replay with its picture; one that fails in the same places as the one before refers to that."""
    found = []
    before: GoldenCheck | None = None
    for one in results:
        same = before is not None and bool(one.culprits) and _places(one) == _places(before)
        found.append((one, page_plot(model_panel(one)), before.mode if same and before is not None else ""))
        before = one
    return found


def _places(result: GoldenCheck) -> list[tuple[str, str, str]]:
    return [(one.module, one.where, one.kind) for one in result.culprits]


def _launch_rows(result: KernelComparison) -> list[tuple[str, str, str, list[str]]]:
    """Launch, kernel, status and lines about its buffers; a run of equal launches of one kernel is one row."""
    rows: list[tuple[str, str, str, list[str]]] = []
    group: list[LaunchResult] = []
    for launch in [*result.launches, None]:
        goes_on = launch is not None and launch.status == "same" and group and group[-1].status == "same"
        if goes_on and launch is not None and launch.kernel == group[-1].kernel:
            group.append(launch)
            continue
        if group:
            rows.append(_launch_row(group))
        group = [launch] if launch is not None else []
    if len(rows) > _LAUNCHES_SHOWN:
        left = len(rows) - _LAUNCHES_SHOWN
        return [*rows[:_LAUNCHES_SHOWN], ("", f"... and {left} more rows: `kpt golden compare` prints them", "", [])]
    return rows


def _launch_row(group: Sequence[LaunchResult]) -> tuple[str, str, str, list[str]]:
    first, last = group[0], group[-1]
    number = str(first.number) if first is last else f"{first.number} to {last.number}"
    lines = [buffer_line(one) for one in telling_first(first)] or ([first.text] if first.text else [])
    written = [buffer for one in group for buffer in one.buffers if buffer.when == "after"]
    elements = sum(buffer.elements for buffer in written)
    if first.status == "same" and elements:
        lines.append(f"{sum(buffer.equal for buffer in written):,} of {elements:,} elements are equal bit for bit")
    return number, first.kernel, first.status, lines


def _todo(findings: tuple[Finding, ...]) -> list[tuple[str, str, list[Finding]]]:
    groups: dict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[("a person", "review", "automatic").index(action(finding))].append(finding)
    return [(title, why, groups[index]) for index, (title, why) in enumerate(TODO) if groups[index]]


def _reasons(patch: Patch, done: Verification) -> str:
    """Why the checker says the NVIDIA path of a changed file is the same."""
    if done.isolation is None:
        return ""
    verdict = next((item for item in done.isolation.files if item.path == patch.path), None)
    return f"{verdict.verdict.value}: {verdict.reason}" if verdict is not None else ""
