"""What a repair is: the message it answers, and the edit it makes at the place of the message."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from kernel_pytorch.core.findings import Edit
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.repairs.complaint import Complaint


@dataclass(frozen=True)
class Repair:
    """One repair's code, its name, and the messages it answers."""

    code: str
    slug: str
    message: re.Pattern[str]

    @property
    def file_stem(self) -> str:
        """The name of the repair's module, which is also the name of its fixture folder."""
        return f"{self.code.lower()}_{self.slug.replace('-', '_')}"


@dataclass(frozen=True)
class Around:
    """The project around a place, as it is now: whether another file has a word, and what is in another file."""

    mentions: Callable[[bytes], bool] = lambda name: False
    file: Callable[[str], CxxFile | None] = lambda path: None


@dataclass(frozen=True)
class RepairPlace:
    """Where a complaint points: an offset in a file of the project as it is now."""

    src: CxxFile
    offset: int
    complaint: Complaint
    found: re.Match[str]  # the repair's pattern in the complaint's text
    around: Around = Around()

    @property
    def line(self) -> tuple[int, int]:
        """Start and end of the line."""
        return self.src.line_span(self.offset)


@dataclass(frozen=True)
class LoadedRepair:
    """A repair and its function."""

    repair: Repair
    edits: Callable[[RepairPlace], tuple[Edit, ...]]
