"""Where the CUDA and the ROCm run of a build description part: the conditions that came out differently."""

from __future__ import annotations

from dataclasses import dataclass

from kernel_pytorch.verify.install.record import Condition, InstallRecord


@dataclass(frozen=True)
class Parting:
    """A condition that was always true on one platform and always false on the other."""

    condition: Condition
    on_cuda: bool


def partings(cuda: InstallRecord, rocm: InstallRecord) -> tuple[Parting, ...]:
    """In the order in which the files and lines stand. Both runs asked each of them."""
    theirs = {one.span: one.answers for one in rocm.conditions}
    found = [
        Parting(one, one.answers[0])
        for one in cuda.conditions
        if len(one.answers) == 1 and theirs.get(one.span) == (not one.answers[0],)
    ]
    return tuple(sorted(found, key=lambda one: one.condition.span))
