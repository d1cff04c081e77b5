"""Compares what a program did on two emulated GPUs: what it printed, returned and left in device memory.

With names translated but lane logic untouched, wave 32 is what the CUDA original means: a program that does
something else at wave 64 depends on the width.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest

from kernel_pytorch.emulate.run import Outcome

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_SHOWN = 10


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same. `what` is "exit", "output", "buffer" or "fault"."""

    what: str
    where: str
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.what} {self.where}: {self.first!r} and {self.second!r}"


def differences(first: Outcome, second: Outcome, again: Outcome | None = None) -> tuple[Difference, ...]:
    """Where two runs differ. `again` is a second run of the first: what differs there already is noise (times ...)."""
    found: list[Difference] = []
    if first.exit_code != second.exit_code:
        found.append(Difference("exit", "code", str(first.exit_code), str(second.exit_code)))
    found += _output(first, second, again)
    found += _buffers(first, second, again)
    for fault in second.events.faults:
        if all((fault.kind, fault.place) != (other.kind, other.place) for other in first.events.faults):
            found.append(Difference("fault", fault.place, "none", f"{fault.kind}: {fault.detail}"))
    return tuple(found)


def _output(first: Outcome, second: Outcome, again: Outcome | None) -> list[Difference]:
    noisy = _noisy_lines(first, again)
    found = []
    pairs = zip_longest(first.stdout.splitlines(), second.stdout.splitlines(), fillvalue="")
    for number, (left, right) in enumerate(pairs, 1):
        if left == right:
            continue
        # A line whose numbers vary between two runs of the same GPU still has to keep its words.
        if number in noisy and _NUMBER.sub("#", left) == _NUMBER.sub("#", right):
            continue
        found.append(Difference("output", f"line {number}", left, right))
        if len(found) == _SHOWN:
            break
    return found


def _noisy_lines(first: Outcome, again: Outcome | None) -> set[int]:
    if again is None:
        return set()
    pairs = zip_longest(first.stdout.splitlines(), again.stdout.splitlines(), fillvalue="")
    return {number for number, (left, right) in enumerate(pairs, 1) if left != right}


def _buffers(first: Outcome, second: Outcome, again: Outcome | None) -> list[Difference]:
    left = {buffer.id: buffer for buffer in first.events.buffers}
    right = {buffer.id: buffer for buffer in second.events.buffers}
    varying = set()
    if again is not None:
        once_more = {buffer.id: buffer.digest for buffer in again.events.buffers}
        varying = {key for key, buffer in left.items() if once_more.get(key) != buffer.digest}
    found = []
    for key in sorted(left.keys() & right.keys() - varying):
        if left[key].bytes != right[key].bytes:
            # Sizes that follow the wave width (one partial sum per warp) are no fault by themselves.
            continue
        if left[key].digest != right[key].digest:
            size = f"allocation {key} ({left[key].bytes} bytes)"
            found.append(Difference("buffer", size, left[key].digest, right[key].digest))
    return found[:_SHOWN]
