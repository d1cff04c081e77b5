"""What the isolation check can say about a file, and about a change as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kernel_pytorch.core.printable import on_one_line


class Isolation(Enum):
    """From best to worst. The report's own verdict is the worst of its files."""

    IDENTICAL = "identical"  # the bytes are the same
    PROVEN = "proven"  # folded to "not ROCm", both sides are the same
    NOT_PROVEN = "not proven"  # they differ where a gate could not be decided
    CHANGED = "changed"  # they differ on the NVIDIA path


RANK = {verdict: rank for rank, verdict in enumerate(Isolation)}


@dataclass(frozen=True)
class FileVerdict:
    """One file. `line` is in the new file, `old_line` in the old one; None where there is no place to name."""

    path: str
    verdict: Isolation
    reason: str
    line: int | None = None
    old_line: int | None = None
    assumptions: tuple[str, ...] = ()

    @property
    def is_proven(self) -> bool:
        """Whether the NVIDIA path of this file is known to be unchanged."""
        return self.verdict in (Isolation.IDENTICAL, Isolation.PROVEN)

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        taken = f" (assuming {'; '.join(self.assumptions)})" if self.assumptions else ""
        return on_one_line(f"{place}: {self.verdict.value}: {self.reason}{taken}")


@dataclass(frozen=True)
class IsolationReport:
    """All files that differ in any way between the two sides, and how many do not."""

    files: tuple[FileVerdict, ...]
    identical: int

    @property
    def verdict(self) -> Isolation:
        return max((item.verdict for item in self.files), key=RANK.__getitem__, default=Isolation.IDENTICAL)

    @property
    def proven(self) -> bool:
        return self.verdict in (Isolation.IDENTICAL, Isolation.PROVEN)

    def of(self, verdict: Isolation) -> tuple[FileVerdict, ...]:
        return tuple(item for item in self.files if item.verdict is verdict)
