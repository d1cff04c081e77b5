"""What a memory instruction puts under way, and what a wait instruction waits for, on every family.

The rules are those of AMD's instruction set manuals ("Data Dependency Resolution") and of LLVM's SIInsertWaitcnts.cpp:

- gfx9: vmcnt counts loads and stores of vector memory, which return in order. lgkmcnt counts LDS (in order), scalar
  memory and messages (in any order). A flat access counts in both and comes back in any order.
- gfx10, gfx11: stores count in vscnt. Flat accesses keep the order of each counter.
- gfx12: loadcnt, storecnt, dscnt, kmcnt, samplecnt, bvhcnt, each for its kind.
- gfx1250: asynccnt for copies between memory and LDS, tensorcnt for those of whole tiles. Its xcnt (registers that an
  access may read again after a page fault) is not followed.

Registers a store reads are read when it is issued, on all of these: overwriting them needs no wait. expcnt is left to
exports and to LDS loads through the parameter path (lds_direct_load).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernel_pytorch.emulate.assembly.instruction import Instruction, Raw
from kernel_pytorch.emulate.codegen.memory_code import returns_old
from kernel_pytorch.emulate.isa.row import Row

_COUNT = re.compile(r"(\w+?)\((0x[0-9a-fA-F]+|\d+)\)")
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")
#: gfx12 names -> the counters they set, low byte last.
_SPLIT = {
    "s_wait_loadcnt": ("loadcnt",),
    "s_wait_storecnt": ("storecnt",),
    "s_wait_samplecnt": ("samplecnt",),
    "s_wait_bvhcnt": ("bvhcnt",),
    "s_wait_expcnt": ("expcnt",),
    "s_wait_dscnt": ("dscnt",),
    "s_wait_kmcnt": ("kmcnt",),
    "s_wait_asynccnt": ("asynccnt",),
    "s_wait_tensorcnt": ("tensorcnt",),
    "s_wait_loadcnt_dscnt": ("loadcnt", "dscnt"),
    "s_wait_storecnt_dscnt": ("storecnt", "dscnt"),
    "s_waitcnt_vscnt": ("vscnt",),
    "s_waitcnt_vmcnt": ("vmcnt",),
    "s_waitcnt_expcnt": ("expcnt",),
    "s_waitcnt_lgkmcnt": ("lgkmcnt",),
}
#: Invalidations of caches are no memory access of any counter; write-backs are waited for as stores are.
_WRITE_BACKS = ("buffer_wbl2", "global_wb", "global_wbinv")
_EVERYTHING = (
    "vmcnt", "lgkmcnt", "expcnt", "vscnt", "loadcnt", "storecnt", "dscnt", "kmcnt", "samplecnt", "bvhcnt", "asynccnt",
    "tensorcnt",
)  # fmt: skip


@dataclass(frozen=True)
class Event:
    """One count of one counter. Events of the same `order` come back in the order they were issued; "": in any."""

    counter: str
    order: str


def events(instruction: Instruction, row: Row, generation: int) -> tuple[Event, ...]:
    """What an instruction adds to the counters. Empty for one that is done when it is issued."""
    name = instruction.mnemonic
    if name == "s_get_shader_cycles_u64":  # a scalar instruction, though the table has it with the clocks in memory
        return ()
    if row.kind == "memory":
        return _memory_events(instruction, row, generation)
    # Lanes change places by way of LDS (ds_bpermute), and tiles are transposed while they are read (ds_read_*_tr_*).
    if (row.kind == "wave" and name.startswith("ds_")) or name.startswith("ds_bvh"):
        return (Event(_lds_counter(generation), "lds"),)
    if name.startswith(("lds_direct_load", "lds_param_load", "ds_direct_load", "ds_param_load")):
        return (Event("expcnt", "parameter"),)
    if name.startswith(("s_sendmsg", "s_dcache")) or name == "s_get_barrier_state":
        return (Event(_scalar_counter(generation), ""),)
    if name in _WRITE_BACKS:
        return (_store_event(generation),)
    return ()


def _memory_events(instruction: Instruction, row: Row, generation: int) -> tuple[Event, ...]:
    space, action = row.fact("space"), row.fact("action")
    if space == "SCALAR":
        return (Event(_scalar_counter(generation), ""),)
    if space == "LDS":
        return (Event(_lds_counter(generation), "lds"),)
    if action in ("copy_to_lds", "copy_from_lds"):
        return (Event("tensorcnt", "tensor") if space == "TENSOR" else Event("asynccnt", "async"),)
    if generation >= 12 and row.fact("does") in ("SAMPLE", "GATHER"):
        return (Event("samplecnt", "sample"),)
    stores = action.startswith("store") or (action == "atomic" and not returns_old(instruction))
    vector = _store_event(generation) if stores else Event("loadcnt" if generation >= 12 else "vmcnt", "vector")
    if space != "FLAT":
        return (vector,)
    if generation <= 9:  # which of its two halves it takes is known late: neither counter keeps its order
        return (Event(vector.counter, ""), Event("lgkmcnt", ""))
    return (vector, Event(_lds_counter(generation), "lds"))


def _store_event(generation: int) -> Event:
    if generation <= 9:
        return Event("vmcnt", "vector")
    return Event("storecnt" if generation >= 12 else "vscnt", "store")


def _lds_counter(generation: int) -> str:
    return "dscnt" if generation >= 12 else "lgkmcnt"


def _scalar_counter(generation: int) -> str:
    return "kmcnt" if generation >= 12 else "lgkmcnt"


def waited(instruction: Instruction, generation: int) -> Mapping[str, int]:
    """The most that may be under way behind a wait instruction, by counter. Empty for any other instruction."""
    name = instruction.mnemonic
    if name == "s_wait_idle":
        return dict.fromkeys(_EVERYTHING, 0)
    text = " ".join(one.text for one in instruction.operands if isinstance(one, Raw))
    if name == "s_waitcnt":
        named = {counter: int(value, 0) for counter, value in _COUNT.findall(text)}
        if named or not _NUMBER.search(text):
            return named
        return _packed_counts(int(_NUMBER.findall(text)[-1], 0), generation)
    counters = _SPLIT.get(name)
    numbers = _NUMBER.findall(text)
    if counters is None or not numbers:
        return {}
    value = int(numbers[-1], 0)
    if len(counters) == 1:
        return {counters[0]: value}
    return {counters[0]: value >> 8 & 0x3F, counters[1]: value & 0x3F}


def _packed_counts(value: int, generation: int) -> Mapping[str, int]:
    """The counts in the number of s_waitcnt: their places moved with gfx10 and gfx11."""
    if generation >= 11:
        return {"expcnt": value & 7, "lgkmcnt": value >> 4 & 0x3F, "vmcnt": value >> 10 & 0x3F}
    scalar = 0x3F if generation >= 10 else 0xF
    vector = (value & 0xF) | (value >> 10 & 0x30)
    return {"vmcnt": vector, "expcnt": value >> 4 & 7, "lgkmcnt": value >> 8 & scalar}
