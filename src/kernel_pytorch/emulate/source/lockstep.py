"""Whether a program that fails at source level and passes as machine code depends on lanes running in lockstep."""

from __future__ import annotations

from dataclasses import dataclass

from kernel_pytorch.emulate.events import Fault
from kernel_pytorch.emulate.run import Outcome

# Faults of one thread alone: no order of threads makes or hides them.
_OF_ONE_THREAD = frozenset({"bounds", "shared-bounds", "freed", "host-access", "trap", "resources"})


@dataclass(frozen=True)
class LockstepVerdict:
    """What the two runs say together. `places` are the faults that show where."""

    depends_on_lockstep: bool
    text: str
    places: tuple[Fault, ...] = ()


def verdict(source: Outcome, machine: Outcome, looked_closer: Outcome | None, differs: bool) -> LockstepVerdict:
    """`source` ran from source, `machine` as machine code; `looked_closer` is a source run with races looked for."""
    failed = not source.ok or differs
    if not failed:
        return LockstepVerdict(False, f"{source.gpu} and {machine.gpu} agree")
    faults = (*source.events.faults, *(looked_closer.events.faults if looked_closer is not None else ()))
    lone = [fault for fault in faults if fault.kind in _OF_ONE_THREAD]
    if not machine.ok:
        return LockstepVerdict(False, f"fails at source level and on {machine.gpu}: the fault is not one of lockstep")
    if lone:
        first = lone[0]
        return LockstepVerdict(
            False, f"fails at source level by {first.kind} at {first.place}, which {machine.gpu} hides", (first,)
        )
    places = {fault.place: fault for fault in reversed(faults) if fault.kind in ("race", "collective", "barrier")}
    return LockstepVerdict(
        True,
        f"depends on lockstep: fails at source level, where lanes run in any order, and passes as machine code of "
        f"{machine.gpu}",
        tuple(sorted(places.values(), key=lambda fault: (fault.file, fault.line))),
    )
