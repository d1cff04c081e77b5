"""The proof that patches leave the NVIDIA path alone. What cannot be proven goes no further."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernel_pytorch.core.findings import Patch
from kernel_pytorch.verify.isolation import FileVerdict, compare_file


@dataclass(frozen=True)
class Proof:
    """The patches that were proven, and the verdict on every file that was there before."""

    patches: tuple[Patch, ...]
    verdicts: tuple[FileVerdict, ...]

    @property
    def refused(self) -> tuple[FileVerdict, ...]:
        """The verdicts on files whose patch was not proven."""
        return tuple(one for one in self.verdicts if not one.is_proven)


def prove(patches: Iterable[Patch]) -> Proof:
    """Look at every patch; those whose file is new need no proof."""
    proven: list[Patch] = []
    verdicts: list[FileVerdict] = []
    for patch in patches:
        verdict = verdict_on(patch)
        if verdict is not None:
            verdicts.append(verdict)
        if verdict is None or verdict.is_proven:
            proven.append(patch)
    return Proof(tuple(proven), tuple(verdicts))


def verdict_on(patch: Patch) -> FileVerdict | None:
    """Fold the file's gates to "not ROCm" and compare with the original. None for a new file."""
    return None if patch.before is None else compare_file(patch.path, patch.before, patch.after)
