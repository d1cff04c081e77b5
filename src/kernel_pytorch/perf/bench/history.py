"""Benchmarks kept: one JSON object per line, oldest first."""

from __future__ import annotations

import json
from pathlib import Path

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import from_json, to_json
from kernel_pytorch.core.read_file import LARGE, read_text
from kernel_pytorch.perf.bench.result import BenchReport, TargetResult


def append(report: BenchReport, path: Path) -> None:
    """Add a report to a history file. Raises UsageError naming the file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(to_json(report, indent=None) + "\n")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from error


def load_result(text: str) -> TargetResult:
    """`FILE`, `FILE#-2` (which entry, default the last) or `FILE#-1:NAME` (which target, default the first)."""
    place, _, choice = text.partition("#")
    entry, _, name = choice.partition(":")
    path = Path(place)
    try:
        content = read_text(path, limit=LARGE)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    reports = _reports(path, content)
    try:
        report = reports[int(entry) if entry else -1]
    except ValueError as error:
        raise UsageError(f"{text}: {entry!r} is not a number; write {place}#-1 for the last entry") from error
    except IndexError as error:
        raise UsageError(f"{text}: the file has {counted(len(reports), 'entry', 'entries')}") from error
    if not name:
        return report.results[0]
    found = [result for result in report.results if result.name == name]
    if not found:
        known = ", ".join(result.name for result in report.results)
        raise UsageError(f"{text}: no target {name!r} in that entry; it has {known}")
    return found[0]


def _reports(path: Path, content: str) -> list[BenchReport]:
    if not content.strip():
        raise UsageError(f"{path}: the file is empty")
    try:
        # One report over several lines (`kpt bench --json > FILE`), or one per line (--history).
        try:
            json.loads(content)
            texts = [content]
        except ValueError:
            texts = [line for line in content.splitlines() if line.strip()]
        reports = [from_json(BenchReport, text) for text in texts]
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{path}: not a benchmark saved by kpt bench ({error})") from error
    if not all(report.results for report in reports):
        raise UsageError(f"{path}: an entry has no results")
    return reports
