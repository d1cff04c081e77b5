"""How much of a project's tensor-core code a port moves by itself, how much by a slower way, and how much not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.findings import Finding

# nvcuda::wmma needs no finding: its products are counted in the sources.
_WMMA_PRODUCT = re.compile(rb"(?:\b(\w+)\s*::\s*|^[ \t]*)mma_sync\s*\(", re.MULTILINE)
_WMMA_ALIAS = re.compile(rb"\bnamespace\s+(\w+)\s*=\s*(?:::)?\s*(?:nvcuda\s*::\s*)?wmma\s*;")
_WMMA_TYPES = re.compile(
    rb"\bfragment\s*<[^;(){}]*?\b(double|half|__half|__nv_bfloat16|tf32|float|int|\w*char|u?int8_t)\b"
)
_CODES = ("KP231", "KP232", "KP233", "KP235")
# The forms that a matrix unit of CDNA computes, and the moves of their operands (docs/tensor-cores.md).
_ON_UNIT = re.compile(
    r"\bmma\.sync\.aligned\.m16n8k(?:16\.\S*\.b?f16\.b?f16|(?:16|32)\.\S*\.e[45]m[23]\.|32\.\S*\.s8\.s8|(?:32|64)\.\S*\.s4\.s4)"
    r"|\b(?:ldmatrix|stmatrix|movmatrix)\."
)
# One finding may stand for several statements of a function (ptx/report.py).
_MORE = re.compile(r"\((\d+) more such statements? in this function\)")


@dataclass(frozen=True)
class TensorCores:
    """Places that multiply tiles or move them. `slower`: by plain arithmetic, or by a copy that is not asynchronous."""

    automatic: int
    slower: int
    person: int

    @property
    def described(self) -> str:
        """In words; nothing where there is no such code."""
        if not (self.automatic or self.slower or self.person):
            return ""
        return (
            f"tensor cores: {counted(self.automatic, 'place')} moved by kpt, {self.slower} in a slower form, "
            f"{self.person} for a person"
        )


@dataclass(frozen=True)
class WmmaProducts:
    """Calls of wmma::mma_sync. Those of double are plain arithmetic on every target."""

    on_unit: int = 0
    plain: int = 0

    def __add__(self, other: WmmaProducts) -> WmmaProducts:
        return WmmaProducts(self.on_unit + other.on_unit, self.plain + other.plain)


def wmma_products(data: bytes) -> WmmaProducts:
    """The products of one file. They are of double where all its fragments are."""
    if b"wmma" not in data:
        return WmmaProducts()
    names = {b"wmma", b"", *_WMMA_ALIAS.findall(data)}
    count = sum(name in names for name in _WMMA_PRODUCT.findall(data))
    return WmmaProducts(plain=count) if set(_WMMA_TYPES.findall(data)) == {b"double"} else WmmaProducts(count)


def tensor_cores(findings: Sequence[Finding], products: WmmaProducts) -> TensorCores:
    """Counted from the findings, and from the wmma products in the sources."""
    ours = [finding for finding in findings if finding.code in _CODES]
    moved = [finding for finding in ours if finding.edits]
    on_unit = sum(_places(finding) for finding in moved if _ON_UNIT.search(finding.message))
    slower = sum(map(_places, moved)) - on_unit + products.plain
    return TensorCores(
        on_unit + products.on_unit, slower, sum(_places(finding) for finding in ours if not finding.edits)
    )


def _places(finding: Finding) -> int:
    more = _MORE.search(finding.message)
    return 1 + (int(more[1]) if more else 0)
