"""A comparison of two kernel records as lines: the verdict, the first kernel that differs, then the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kernel_pytorch.core.counted import counted
from kernel_pytorch.verify.kernels.record_comparison import BufferResult, KernelComparison, LaunchResult

_FAULTS_SHOWN = 5
_BUFFERS_SHOWN = 3


def comparison_lines(result: KernelComparison, verbose: bool = False) -> Iterator[str]:
    """Lines for a person; `verbose` also lists what is the same."""
    counts = Counter(one.status for one in result.launches)
    summary = ", ".join(f"{number} {status}" for status, number in counts.items())
    launches = counted(len(result.launches), "launch", "launches")
    yield f"{result.program}: {'same' if result.ok else 'DIFFERS'}: {launches}: {summary}"
    yield f"  recorded on {result.recorded_on}, checked on {result.checked_on}"
    first = result.first_fault
    if first is not None:
        yield f"  the first kernel that differs: {first.kernel} (launch {first.number})"
    faults = [one for one in result.launches if one.is_fault]
    while not verbose and len(faults) > 1 and faults[-1].status == faults[-2].status == "missing":
        faults.pop()  # a program that ended early misses all the rest: one of them says so
    shown = result.launches if verbose else faults[:_FAULTS_SHOWN]
    for one in shown:
        yield f"  launch {one.number} {one.kernel}: {_status(one)}"
        for buffer in one.buffers if verbose else telling_first(one)[:_BUFFERS_SHOWN]:
            yield f"    {buffer_line(buffer)}"
    if not verbose and len(faults) > _FAULTS_SHOWN:
        yield f"  ... and {len(faults) - _FAULTS_SHOWN} more launches (-v shows all)"
    exact = [buffer for one in result.launches for buffer in one.buffers if buffer.when == "after"]
    elements = sum(buffer.elements for buffer in exact)
    if elements:
        yield f"  outputs: {sum(buffer.equal for buffer in exact)} of {elements} elements are equal bit for bit"
    if result.note:
        yield f"  {result.note}"


def telling_first(launch: LaunchResult) -> list[BufferResult]:
    """The buffers that are wrong: those with a pattern before those that only differ."""
    wrong = [buffer for buffer in launch.buffers if not buffer.ok]
    return sorted(wrong, key=lambda buffer: buffer.kind in ("noise", "part"))


_MEANING = {
    "differs": "its inputs are the same, its outputs are not",
    "inputs": "its inputs differ already, and the kernel before left them equal: host code or a library call between",
    "follows": "its inputs were wrong already",
    "not compared": "contents are not in the records",
}


def _status(one: LaunchResult) -> str:
    parts = [one.status, _MEANING.get(one.status, ""), one.text]
    if one.matched_by not in ("", "name"):
        parts.append(f"matched by {one.matched_by}")
    return ": ".join(part for part in parts if part)


def buffer_line(buffer: BufferResult) -> str:
    """One buffer: which, how, and as what type it was compared."""
    place = f"argument {', '.join(map(str, buffer.arguments))} " if buffer.arguments else ""
    when = "before the launch" if buffer.when == "before" else "after it"
    verdict = "same" if buffer.ok else f"{buffer.kind}: {buffer.text}"
    if buffer.ok and buffer.text:
        verdict = f"same: {buffer.text}" if not buffer.kind else buffer.text
    line = f"{place}(buffer {buffer.buffer}) {when}: {verdict}"
    if buffer.assumed:
        compared = f"as {buffer.dtype}, by {buffer.assumed}; {buffer.equal} of {buffer.elements} equal bit for bit"
        line += f" [{compared}; error {buffer.error:.3g} of {buffer.limit:.3g} allowed]"
    return line
