"""Finds missing waits in the machine code of one kernel, over every way through it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernel_pytorch.emulate.assembly.instruction import Instruction
from kernel_pytorch.emulate.codegen.flow import Flow, blocks_of, following
from kernel_pytorch.emulate.isa.row import Row
from kernel_pytorch.emulate.waits.counters import Event, events, waited
from kernel_pytorch.emulate.waits.registers import Key, Use, use

#: More than any counter holds: an access with that many behind it is done, since the hardware stalls before.
_MOST = 64
_BARRIERS = frozenset({"s_barrier", "s_barrier_signal", "s_barrier_signal_isfirst"})

#: What may be under way: instruction number and event number -> how many of its order were issued after it, at least.
_UnderWay = dict[tuple[int, int], int]


@dataclass(frozen=True)
class MissingWait:
    """An access that may still be under way where its result is used."""

    access: int  # instruction number of the load or LDS access
    use: int  # of the instruction that should have waited
    what: str  # "v5", "s[2:3]" or "LDS"
    how: str  # "read", "overwritten" or "passed"
    wait: str  # the wait that was needed, such as "vmcnt(1)"
    path: tuple[int, ...]  # every instruction on one way from the access to the use


@dataclass(frozen=True)
class Step:
    """One instruction as this analysis sees it."""

    waits: Mapping[str, int]
    events: tuple[Event, ...]
    use: Use
    writes_lds: bool
    barrier: bool


def steps_of(parts: Sequence[list[tuple[Instruction, Row]]], generation: int, wave: int) -> list[Step]:
    """The instructions of a flow (each with its row; two for v_dual pairs) as steps."""
    found = []
    for pair in parts:
        instruction, row = pair[0]
        action = row.fact("action")
        stores = action.startswith("store") or action in ("atomic", "exchange2", "count_lanes")
        found.append(
            Step(
                waited(instruction, generation),
                events(instruction, row, generation),
                use(pair, wave),
                # Loads straight into LDS are not followed: code with two buffers passes barriers with one under way,
                # and which buffer is read behind the barrier is not known before it runs.
                writes_lds=row.fact("space") == "LDS" and stores,
                barrier=instruction.mnemonic in _BARRIERS,
            )
        )
    return found


def missing_waits(flow: Flow, steps: Sequence[Step]) -> tuple[MissingWait, ...]:
    """Every access and use without a wait between them, each pair once."""
    blocks = blocks_of(flow)
    after = following(flow, blocks)
    entry: list[_UnderWay | None] = [None] * len(blocks)
    entry[0] = {}
    work = deque([0])
    queued = {0}
    while work:
        number = work.popleft()
        queued.discard(number)
        state = dict(entry[number] or {})
        for at in range(*blocks[number]):
            _advance(steps, at, state)
        for successor in after[number]:
            merged = _merged(entry[successor], state)
            if merged is not None:
                entry[successor] = merged
                if successor not in queued:
                    queued.add(successor)
                    work.append(successor)
    found: dict[tuple[int, int], MissingWait] = {}
    for number, start in enumerate(entry):
        if start is None:
            continue
        state = dict(start)
        for at in range(*blocks[number]):
            for key, what, how in _faults(steps, at, state):
                if (key[0], at) not in found:
                    path = way(flow, steps, key, at)
                    event = steps[key[0]].events[key[1]]
                    limit = state[key] if event.order else 0
                    found[key[0], at] = MissingWait(key[0], at, what, how, f"{event.counter}({limit})", path)
            _advance(steps, at, state)
    return tuple(found[key] for key in sorted(found))


def _merged(known: _UnderWay | None, new: _UnderWay) -> _UnderWay | None:
    """Both states together, or None where the new one adds nothing."""
    if known is None:
        return dict(new)
    changed = False
    merged = dict(known)
    for key, later in new.items():
        if later < merged.get(key, _MOST + 1):
            merged[key] = later
            changed = True
    return merged if changed else None


def _advance(steps: Sequence[Step], at: int, state: _UnderWay) -> None:
    """What is under way behind an instruction."""
    step = steps[at]
    for counter, limit in step.waits.items():
        for key, later in list(state.items()):
            event = steps[key[0]].events[key[1]]
            if event.counter == counter and _is_done(event, later, limit):
                del state[key]
    for number, event in enumerate(step.events):
        if event.order:
            for key, later in state.items():
                if steps[key[0]].events[key[1]] == event:
                    state[key] = min(later + 1, _MOST)
        if step.use.writes or step.writes_lds:
            state[at, number] = 0


def _is_done(event: Event, later: int, limit: int) -> bool:
    """Whether an access is done once at most `limit` are under way: in order, those issued last are the ones left."""
    return limit == 0 or (bool(event.order) and later >= limit)


def _faults(steps: Sequence[Step], at: int, state: _UnderWay) -> list[tuple[tuple[int, int], str, str]]:
    """What an instruction uses of that which is under way."""
    step = steps[at]
    found = []
    for key in state:
        access = steps[key[0]]
        event = access.events[key[1]]
        read = step.use.reads & access.use.writes
        if read:
            found.append((key, named(read), "read"))
            continue
        over = step.use.writes & access.use.writes
        in_turn = bool(event.order) and event in step.events
        if over and not in_turn:
            found.append((key, named(over), "overwritten"))
        elif step.barrier and access.writes_lds:
            found.append((key, "LDS", "passed"))
    return found


def named(keys: frozenset[Key]) -> str:
    """Registers as assembly names them."""
    file, first = min(keys)
    last = max(index for name, index in keys if name == file)
    if (file, first) == ("s", 106):
        return "vcc"
    return f"{file}{first}" if first == last else f"{file}[{first}:{last}]"


def way(flow: Flow, steps: Sequence[Step], key: tuple[int, int], goal: int) -> tuple[int, ...]:
    """The shortest way from an access to `goal` on which it stays under way, both ends included."""
    access, number = key
    event = steps[access].events[number]
    nexts = _successors(flow)
    came: dict[tuple[int, int], tuple[int, int] | None] = {(access, 0): None}
    queue = deque([(access, 0)])
    while queue:
        here = queue.popleft()
        at, later = here
        for successor in nexts(at):
            step = steps[successor]
            if successor == goal:
                path = [goal]
                back: tuple[int, int] | None = here
                while back is not None:
                    path.append(back[0])
                    back = came[back]
                return tuple(reversed(path))
            if any(counter == event.counter and _is_done(event, later, n) for counter, n in step.waits.items()):
                continue
            then = (successor, min(later + 1, _MOST) if event.order and event in step.events else later)
            if then not in came:
                came[then] = here
                queue.append(then)
    return (access, goal)


class _Successors:
    """The instructions that may come next, by instruction."""

    def __init__(self, flow: Flow) -> None:
        self._blocks = blocks_of(flow)
        self._after = following(flow, self._blocks)
        self._last = {end - 1: number for number, (_, end) in enumerate(self._blocks)}

    def __call__(self, at: int) -> list[int]:
        number = self._last.get(at)
        return [at + 1] if number is None else [self._blocks[one][0] for one in self._after[number]]


def _successors(flow: Flow) -> _Successors:
    return _Successors(flow)
