"""What a run came to, per file and in all: references, findings, what was not looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kernel_pytorch.core.findings import Finding, to_plain
from kernel_pytorch.port.hipify.file import HipifiedFile


@dataclass(frozen=True)
class FileStats:
    """One file's figures. `left` are the findings no edit answered: a person has to look at them."""

    path: str
    bytes_in: int
    changed: bool
    translated: int
    untranslated: int
    applied: tuple[str, ...]
    left: tuple[Finding, ...]
    libraries: tuple[tuple[str, int], ...] = ()
    written_as: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "path": self.path,
            "bytes": self.bytes_in,
            "changed": self.changed,
            "references_translated": self.translated,
            "references_left": self.untranslated,
            "edits": dict(sorted(Counter(self.applied).items())),
            "libraries": dict(self.libraries),
            "written_as": self.written_as,
            "findings": [
                {key: value for key, value in to_plain(found).items() if key not in ("edits", "path")}
                for found in self.left
            ],
        }


def file_stats(result: HipifiedFile, written_as: str = "") -> FileStats:
    """The figures of one file."""
    held = {id(item.finding) for item in result.held}
    left = tuple(found for found in result.findings if not found.edits or id(found) in held)
    libraries = Counter(name.library for name in result.names)
    return FileStats(
        result.path,
        len(result.before),
        result.changed,
        result.translated,
        result.untranslated,
        result.applied,
        left,
        tuple(sorted(libraries.items())),
        written_as,
    )


@dataclass
class Totals:
    """Figures of a whole run."""

    files: int = 0
    changed: int = 0
    bytes_in: int = 0
    translated: int = 0
    untranslated: int = 0
    edits: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)

    def add(self, stats: FileStats) -> None:
        """Counts one file."""
        self.files += 1
        self.changed += stats.changed
        self.bytes_in += stats.bytes_in
        self.translated += stats.translated
        self.untranslated += stats.untranslated
        self.edits.update(stats.applied)
        self.findings.update(found.code for found in stats.left)

    def lines(self) -> Iterable[str]:
        """The figures for people."""
        yield f"files: {self.files}, changed: {self.changed}, bytes: {self.bytes_in}"
        yield f"references translated: {self.translated}, without counterpart: {self.untranslated}"
        if self.edits:
            yield f"edits by rules: {_counted(self.edits)}"
        yield f"left for a person: {_counted(self.findings) if self.findings else 'nothing'}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "files": self.files,
            "changed": self.changed,
            "bytes": self.bytes_in,
            "references_translated": self.translated,
            "references_left": self.untranslated,
            "edits": dict(sorted(self.edits.items())),
            "findings": dict(sorted(self.findings.items())),
        }


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{code} {count}" for code, count in sorted(counter.items()))
