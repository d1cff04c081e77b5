"""Loads straight into LDS: what a run has to note so that a use before their wait is found.

Which bytes such a load fills, and which bytes an access behind a barrier reads, is known only when the code runs: code
with two buffers passes barriers while one of them is being filled. So the static pass leaves them to the runtime
(native/runtime/lds_loads.cpp), which is told of every vector memory access and of every wait for them.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernel_pytorch.emulate.codegen.flow import Flow
from kernel_pytorch.emulate.isa.table import family, find
from kernel_pytorch.emulate.waits.counters import events, waited

#: What counts loads straight into LDS; gfx1250's copies have a counter of their own.
_VECTOR, _ASYNC = ("vmcnt", "loadcnt"), ("asynccnt",)


def loads_lds(flow: Flow, target: str) -> bool:
    """Whether a kernel has loads straight into LDS."""
    return bool(_counters(flow, target))


def _counters(flow: Flow, target: str) -> tuple[str, ...]:
    """The counters that a kernel's loads into LDS are waited for by; no target has both kinds."""
    for one in flow.instructions:
        row = find(one.mnemonic, target)
        if row is None or row.kind != "memory":
            continue
        if row.fact("action") == "load_to_lds" or (row.fact("space") == "BUFFER" and one.modifiers.get("lds")):
            return _VECTOR
        if row.fact("action") == "copy_to_lds" and row.fact("space") != "TENSOR":
            return _ASYNC
    return ()


def wait_notes(flow: Flow, target: str) -> Mapping[int, str]:
    """C in front of the instructions that count in the counter of loads, and of those that wait for it."""
    generation = int(family(target)[3:])
    counters = _counters(flow, target)
    notes: dict[int, str] = {}
    for at, one in enumerate(flow.instructions):
        row = find(one.mnemonic, target)
        if row is None:
            continue
        if any(event.counter in counters for event in events(one, row, generation)):
            notes[at] = "w->issued++;"
        for counter, left in waited(one, generation).items():
            if counter in counters:
                notes[at] = f"w->services->vector_wait(w, {left}u);"
    return notes
