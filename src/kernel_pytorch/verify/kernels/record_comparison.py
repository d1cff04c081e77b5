"""Compares two kernel records: the first kernel whose outputs differ although its inputs are the same, and how."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.verify.golden.tolerance import EPSILON, Sums
from kernel_pytorch.verify.kernels.align import Pair, align
from kernel_pytorch.verify.kernels.contents import BYTES_OF, compare_contents, declared_type
from kernel_pytorch.verify.kernels.names import kernel_name
from kernel_pytorch.verify.kernels.patterns import Wrong, describe
from kernel_pytorch.verify.kernels.record import BufferState, KernelArchive, LaunchRecord

_LONGEST_SUM = 1 << 20
_MOST_STEPS = 100


@dataclass(frozen=True)
class BufferResult:
    """One buffer after a launch (`when` "after") or before it ("before"). `equal` counts bit-exact elements."""

    buffer: str
    when: str
    arguments: tuple[int, ...]
    dtype: str
    assumed: str
    elements: int
    equal: int
    error: float
    limit: float
    ok: bool
    kind: str = ""
    text: str = ""


@dataclass(frozen=True)
class LaunchResult:
    """One kernel launch on both sides.

    `status`: same; differs (from the same inputs); inputs (they differ already, and the kernel before left them equal:
    host code or a library between them); follows (the inputs were wrong before); not compared; stopped; missing; extra.
    """

    number: int
    kernel: str
    status: str
    text: str = ""
    matched_by: str = ""
    buffers: tuple[BufferResult, ...] = ()

    @property
    def is_fault(self) -> bool:
        return self.status in ("differs", "inputs", "stopped", "missing", "extra")


@dataclass(frozen=True)
class KernelComparison:
    """All launches of the reference, in order, with those that only one side has."""

    program: str
    recorded_on: str
    checked_on: str
    launches: tuple[LaunchResult, ...]
    note: str = ""

    @property
    def first_fault(self) -> LaunchResult | None:
        return next((one for one in self.launches if one.is_fault), None)

    @property
    def compared(self) -> int:
        return sum(one.status in ("same", "differs", "inputs", "follows") for one in self.launches)

    @property
    def ok(self) -> bool:
        return self.first_fault is None and all(one.status == "same" for one in self.launches)


def compare_records(reference: KernelArchive, here: KernelArchive) -> KernelComparison:
    """Kernel by kernel. Contents that a record does not hold are compared by their hashes."""
    differ: set[str] = set()  # buffers of the reference that are wrong since an earlier launch
    results = [_launch(pair, reference, here, step, differ) for step, pair in enumerate(_pairs(reference, here))]
    there, now = reference.record, here.record
    notes = [note for note in (there.note, now.note) if note]
    if there.exit_code != now.exit_code:
        notes.append(f"the program ended with status {now.exit_code} here, {there.exit_code} on the reference")
    if there.launches_in_all > len(there.launches) or now.launches_in_all > len(now.launches):
        counted = f"{len(there.launches)} of {there.launches_in_all} and {len(now.launches)} of {now.launches_in_all}"
        notes.append(f"{counted} launches were recorded (--max-launches)")
    return KernelComparison(
        there.program,
        there.machine.get("device_name", "?"),
        now.machine.get("device_name", "?"),
        tuple(results),
        "; ".join(notes),
    )


def _pairs(reference: KernelArchive, here: KernelArchive) -> Iterator[Pair]:
    cut = min(len(reference.record.launches), len(here.record.launches))
    limited = any(one.record.launches_in_all > len(one.record.launches) for one in (reference, here))
    # Beyond the limit of one side there is nothing to compare the other with.
    sides = [one.record.launches[:cut] if limited else one.record.launches for one in (reference, here)]
    yield from align(sides[0], sides[1])


def _launch(pair: Pair, reference: KernelArchive, here: KernelArchive, step: int, differ: set[str]) -> LaunchResult:
    there, now = pair.reference, pair.here
    if now is None or there is None:
        alone = there or now
        assert alone is not None
        status, side = ("missing", "here") if now is None else ("extra", "on the reference")
        return LaunchResult(alone.number, kernel_name(alone.symbol), status, f"was not launched {side}")
    name = kernel_name(there.symbol)
    if now.error or not now.finished or there.error or not there.finished:
        return LaunchResult(there.number, name, "stopped", _stopped(there, now), pair.by)
    buffers = tuple(_buffers(there, now, reference, here, step))
    before = [one for one in buffers if one.when == "before" and not one.ok]
    after = [one for one in buffers if one.when == "after" and not one.ok]
    known = [one for one in before if one.buffer in differ]
    for one in buffers:
        if one.when == "after":
            (differ.discard if one.ok else differ.add)(one.buffer)
    differ |= {one.buffer for one in before if one.buffer not in {two.buffer for two in buffers if two.when == "after"}}
    status = "same"
    if before and not known:
        status = "inputs"
    elif after:
        status = "follows" if before else "differs"
    elif any(one.kind == "not kept" for one in buffers):
        status = "not compared"
    return LaunchResult(there.number, name, status, _sizes(there, now), pair.by, buffers)


def _stopped(there: LaunchRecord, now: LaunchRecord) -> str:
    if not there.finished or there.error:
        return f"failed on the reference (status {there.error})" if there.error else "the reference died in it"
    return f"failed here (status {now.error})" if now.error else "the program died in it here"


def _sizes(there: LaunchRecord, now: LaunchRecord) -> str:
    parts = [
        f"{what} {_size(mine)} here, {_size(theirs)} in the record"
        for what, mine, theirs in (("grid", now.grid, there.grid), ("block", now.block, there.block))
        if mine != theirs
    ]
    return "; ".join(parts)


def _size(triple: tuple[int, ...]) -> str:
    return "x".join(map(str, triple))


def _buffers(
    there: LaunchRecord, now: LaunchRecord, reference: KernelArchive, here: KernelArchive, step: int
) -> Iterator[BufferResult]:
    twins = _twins(there, now)
    for theirs, mine in twins:
        places = tuple(sorted({pointer.argument for pointer in there.arguments if pointer.buffer == theirs.buffer}))
        sums = Sums(min(max(theirs.kept // 4, 1), _LONGEST_SUM), min(step + 1, _MOST_STEPS))
        for when in ("before", "after"):
            if when == "before" or theirs.changed or mine.changed:
                yield _one(when, theirs, mine, places, there, now, reference, here, sums)
    # No argument leads to these, so a side that left them alone did not write them down.
    paired = {theirs.buffer for theirs, _ in twins}, {mine.buffer for _, mine in twins}
    for states, known, text in (
        (there.buffers, paired[0], "changed in the record, not here"),
        (now.buffers, paired[1], "changed here, not in the record"),
    ):
        for state in states:
            if state.changed and state.buffer not in known:
                yield BufferResult(state.buffer, "after", (), "", "", 0, 0, 0.0, 0.0, False, "stale", text)


def _twins(there: LaunchRecord, now: LaunchRecord) -> list[tuple[BufferState, BufferState]]:
    """Buffers of both sides by the argument that points to them, else by their name (order of allocation)."""
    mine = {state.buffer: state for state in now.buffers}
    by_place = {(one.argument, one.offset): one.buffer for one in now.arguments if one.buffer in mine}
    found = []
    for state in there.buffers:
        places = [(one.argument, one.offset) for one in there.arguments if one.buffer == state.buffer]
        name = next((by_place[place] for place in places if place in by_place), state.buffer)
        if name in mine:
            found.append((state, mine[name]))
    return found


def _one(
    when: str,
    theirs: BufferState,
    mine: BufferState,
    places: tuple[int, ...],
    there: LaunchRecord,
    now: LaunchRecord,
    reference: KernelArchive,
    here: KernelArchive,
    sums: Sums,
) -> BufferResult:
    hashes = (theirs.before, mine.before) if when == "before" else (theirs.after, mine.after)
    declared = declared_type(there, theirs.buffer) or ""

    def result(ok: bool, kind: str, text: str) -> BufferResult:
        return BufferResult(theirs.buffer, when, places, declared, "", 0, 0, 0.0, 0.0, ok, kind, text)

    if theirs.bytes != mine.bytes:
        return result(False, "size", f"{mine.bytes} bytes here, {theirs.bytes} in the record")
    own = declared_type(now, mine.buffer)
    # The same bits of OCP's and AMD's older 8-bit floats are not the same values.
    other_bits = declared.startswith("float8") and own is not None and own != declared
    if hashes[0] == hashes[1] and not other_bits:
        size = theirs.kept // BYTES_OF.get(declared, 4)
        return BufferResult(theirs.buffer, when, places, declared, "", size, size, 0.0, 0.0, True)
    kept = (theirs.has_before, mine.has_before) if when == "before" else (theirs.has_after, mine.has_after)
    if not all(kept):
        return result(True, "not kept", "its contents differ and are not in the record: raise --max-mb")
    left, right = _content(here, mine, when), reference.content(hashes[0])
    if _same_pointers(left, right, here, reference):
        return result(True, "", "addresses of the same buffers")
    noise = theirs.noise + mine.noise
    found = compare_contents(declared or None, own, left, right, noise, sums)
    judged = found.comparison
    ok, kind, text = judged.ok, "", ""
    if not ok and noise and found.dtype not in EPSILON:
        ok, kind, text = True, "varies", "differs between identical runs of one machine: not judged"
    elif not ok:
        old = here.content(mine.before) if mine.has_before and when == "after" else None
        wrong = describe(Wrong(left, right, old, found.dtype, judged.limit, there.grid, there.block), judged.diagnosis)
        kind, text = wrong.kind, wrong.text
    return BufferResult(
        theirs.buffer, when, places, found.dtype, found.assumed, found.elements, found.equal, judged.error,
        judged.limit, ok, kind, text,
    )  # fmt: skip


def _content(archive: KernelArchive, state: BufferState, when: str) -> bytes:
    return archive.content(state.before if when == "before" else state.after)


def _same_pointers(left: bytes, right: bytes, here: KernelArchive, reference: KernelArchive) -> bool:
    """Tables of device pointers hold other addresses on every machine: they are the same when they name the same."""
    mine = _as_pointers(left, here)
    return mine is not None and mine == _as_pointers(right, reference)


def _as_pointers(content: bytes, archive: KernelArchive) -> list[tuple[str, int]] | None:
    if not content or len(content) % 8 or len(content) > 1 << 20:
        return None
    states = {state.buffer: state for one in archive.record.launches for state in one.buffers}
    places = [(state.base, state.bytes, state.buffer) for state in states.values() if state.base]
    found = []
    for at in range(0, len(content), 8):
        word = int.from_bytes(content[at : at + 8], "little")
        if word == 0:
            found.append(("", 0))
            continue
        holder = next(((name, word - base) for base, size, name in places if base <= word < base + size), None)
        if holder is None:
            return None
        found.append(holder)
    return found if any(name for name, _ in found) else None
