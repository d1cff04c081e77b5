"""How much of a project's tensor-core code a port moves by itself, how much by a slower way, and how much not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.findings import Finding

# nvcuda::wmma needs no finding: its products are counted in the sources.
WMMA_PRODUCT = re.compile(rb"(?:\bwmma\s*::\s*|^[ \t]*)mma_sync\s*\(", re.MULTILINE)
_CODES = ("KP231", "KP232", "KP233", "KP235")
# The forms that a matrix unit of CDNA computes, and the moves of their operands (docs/tensor-cores.md).
_ON_UNIT = re.compile(
    r"\bmma\.sync\.aligned\.m16n8k(?:16\.\S*\.b?f16\.b?f16|(?:16|32)\.\S*\.e[45]m[23]\.|32\.\S*\.s8\.s8|(?:32|64)\.\S*\.s4\.s4)"
    r"|\b(?:ldmatrix|stmatrix|movmatrix)\."
)


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


def tensor_cores(findings: Sequence[Finding], wmma_products: int) -> TensorCores:
    """Counted from the findings, and from the number of wmma products in the sources."""
    ours = [finding for finding in findings if finding.code in _CODES]
    moved = [finding for finding in ours if finding.edits]
    on_unit = sum(_ON_UNIT.search(finding.message) is not None for finding in moved)
    return TensorCores(on_unit + wmma_products, len(moved) - on_unit, len(ours) - len(moved))
