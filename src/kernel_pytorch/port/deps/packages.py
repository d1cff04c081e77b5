"""What each known package means for a ROCm environment: the rows of `tables/packages.csv`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from kernel_pytorch.port.tables import read_table

ACTIONS = ("keep", "drop", "substitute", "protected", "person")
CONFIDENCES = ("vendor", "code", "index", "issue", "community", "known")


@dataclass(frozen=True)
class PackageRow:
    """One row: packages whose name matches `pattern`, and what to do with them on ROCm.

    `replacement` is a requirement pip can install as it stands; `how` is what a person has to do instead or
    besides. `tags` are facts other code asks for: `requires-torch` (its metadata pulls torch), `jax` (part of
    the JAX stack), `breaks-torch` (its presence alone breaks a ROCm torch), `conda` (a conda name only).
    """

    pattern: str
    action: str
    replacement: str
    how: str
    reason: str
    tags: frozenset[str]
    confidence: str
    source: str

    @property
    def requires_torch(self) -> bool:
        """Whether a plain `pip install` of it would ask the index for torch."""
        return "requires-torch" in self.tags


def normalize(name: str) -> str:
    """The name as PEP 503 compares it: `Flash_Attn` and `flash-attn` are one package."""
    return re.sub(r"[-_.]+", "-", name).lower()


@lru_cache(maxsize=1)
def package_table() -> tuple[PackageRow, ...]:
    """All rows, most specific pattern first, so that the first match is the right one."""
    rows = [
        PackageRow(
            pattern=row["pattern"],
            action=row["action"],
            replacement=row["replacement"],
            how=row["how"],
            reason=row["reason"],
            tags=frozenset(row["tags"].split()),
            confidence=row["confidence"],
            source=row["source"],
        )
        for row in read_table("packages.csv")
    ]
    return tuple(sorted(rows, key=lambda row: _specificity(row.pattern)))


def _specificity(pattern: str) -> tuple[bool, int, str]:
    # A literal name beats any glob; among globs the longer literal part wins; the text keeps it deterministic.
    is_glob = any(mark in pattern.partition("[")[0] for mark in "*?")
    return (is_glob, -len(pattern.replace("*", "")), pattern)


def classify(name: str, extras: tuple[str, ...] = (), ecosystem: str = "pip") -> PackageRow | None:
    """The row for a package name, or None if the table says nothing (then it is an ordinary package).

    A row written `name[extra]` answers only for a requirement with such an extra. `ecosystem` is "pip" or
    "conda": rows tagged `conda` name conda packages that mean something else, or nothing, on the pip side.
    """
    wanted = normalize(name)
    asked = {normalize(extra) for extra in extras}
    for row in package_table():
        base, _, extra = row.pattern.partition("[")
        if "conda" in row.tags and ecosystem != "conda":
            continue
        if not fnmatchcase(wanted, base):
            continue
        if extra and not any(fnmatchcase(one, extra.rstrip("]")) for one in asked):
            continue
        return row
    return None
