"""Barriers, votes, shuffles, sleeping and stopping.

Votes and shuffles keep warps of 32: on a 64-lane wave each half is one logical warp, and `__lane_id() & 32` picks it.
"""

from __future__ import annotations

from kernel_pytorch.port.ptx.lower import Handler, Lowering, NotTranslated, expect, only
from kernel_pytorch.port.ptx.ops_special import LANE
from kernel_pytorch.port.ptx.parse import Instruction, Operand, Pair


def _half_ballot(predicate: str) -> str:
    """The 32 bits of a ballot that belong to this logical warp, at wave 32 and wave 64."""
    return f"(unsigned)(__ballot({predicate}) >> (__lane_id() & 32u))"


def _barrier(state: Lowering, item: Instruction) -> None:
    if item.has("warp"):
        only(item, {"warp", "sync"})
        expect(item, 1)
        state.lines.append(
            '__builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront"); __builtin_amdgcn_wave_barrier(); '
            '__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");'
        )
        return
    only(item, {"sync", "aligned", "cta", "red", "popc", "and", "or", "u32", "pred"})
    if item.has("red"):
        _reducing_barrier(state, item)
        return
    if not item.has("sync") or not item.operands:
        raise NotTranslated(f"{item.name} is half a barrier: AMD has only whole ones")
    if state.constant(item.operands[0]) != 0:
        raise NotTranslated(f"{item.text}: AMD has one barrier per block, and it waits for all its threads")
    if len(item.operands) != 1:
        raise NotTranslated(f"{item.text}: a barrier for part of the block")
    state.lines.append("__syncthreads();")


def _reducing_barrier(state: Lowering, item: Instruction) -> None:
    destination, barrier, predicate = expect(item, 3)
    if state.constant(barrier) != 0:
        raise NotTranslated(f"{item.text}: AMD has one barrier per block")
    value = state.read(predicate, "pred")
    if item.has("popc"):
        state.write(destination, "u32", f"(unsigned)__syncthreads_count({value})")
    else:
        state.write(destination, "pred", f"(__syncthreads_{'and' if item.has('and') else 'or'}({value}) != 0)")


def _active_mask(state: Lowering, item: Instruction) -> None:
    only(item, {"b32"})
    (destination,) = expect(item, 1)
    _write_mask(state, destination, "__activemask()", "")


def _write_mask(state: Lowering, destination: Operand, wave_mask: str, members: str) -> None:
    """A variable of 32 bits gets the logical warp's half; one the wave rules widened to 64 bits gets the whole."""
    half = f"(unsigned)({wave_mask} >> (__lane_id() & 32u)){members}"
    target = state.target_expression(destination)
    if target is None:
        state.write(destination, "u32", half)
    elif not members:
        state.lines.append(f"{target} = sizeof({target}) == 8 ? {wave_mask} : {half};")
    else:
        state.write(destination, "u32", half)


def _vote(state: Lowering, item: Instruction) -> None:
    only(item, {"sync", "ballot", "any", "all", "b32", "pred"})
    operands = expect(item, 3 if item.has("sync") else 2)
    destination, predicate = operands[0], operands[1]
    value = state.read(predicate, "pred")
    members = state.hold(operands[2], "u32") if item.has("sync") else "0xffffffffu"
    full = state.constant(operands[2]) if item.has("sync") else 0xFFFFFFFF
    whole = full is not None and full & 0xFFFFFFFF == 0xFFFFFFFF
    if item.has("ballot"):
        _write_mask(state, destination, f"__ballot({value})", "" if whole else f" & {members}")
    elif item.has("any"):
        state.write(destination, "pred", f"(({_half_ballot(value)} & {members}) != 0)")
    elif item.has("all"):
        state.write(destination, "pred", f"(({_half_ballot(f'!{value}')} & {members}) == 0)")
    else:
        raise NotTranslated(f"{item.name} has no known C++ form")


def _shuffle(state: Lowering, item: Instruction) -> None:
    only(item, {"sync", "up", "down", "bfly", "idx", "b32"})
    operands = expect(item, 5 if item.has("sync") else 4)
    destination, value, lane, clamp = operands[:4]
    mode = next((name for name in ("up", "down", "bfly", "idx") if item.has(name)), "")
    code = state.constant(clamp)
    if not mode or code is None or code & 0x1F != (0 if mode == "up" else 0x1F):
        raise NotTranslated(f"{item.text}: the clamp operand is not a literal of a whole segment")
    width = 32 - ((code >> 8) & 0x1F)
    if width & (width - 1):
        raise NotTranslated(f"{item.text}: the segment is no power of two")
    known = state.constant(lane)
    distance = f"{known & 31}u" if known is not None else f"({state.hold(lane, 'u32')} & 31u)"
    function = {"up": "__shfl_up", "down": "__shfl_down", "bfly": "__shfl_xor", "idx": "__shfl"}[mode]
    text = f"(unsigned){function}({state.read(value, 's32')}, (int){distance}, {width})"
    if not isinstance(destination, Pair):
        state.write(destination, "u32", text)
        return
    inside = {
        "up": f"({LANE} & {width - 1}u) >= {distance}",
        "down": f"({LANE} & {width - 1}u) + {distance} < {width}u",
        "bfly": f"({LANE} ^ {distance}) <= ({LANE} | {width - 1}u)",
        "idx": "true",
    }[mode]
    # Held first: the destination may be the register the distance comes from.
    name = f"kpt_in{len(state.lines)}"
    state.lines.append(f"const bool {name} = {inside};")
    state.write(destination.first, "u32", text)
    state.write(destination.second, "pred", name)


def _match(state: Lowering, item: Instruction) -> None:
    only(item, {"any", "sync", "b32", "b64"})
    if not item.has("any"):
        raise NotTranslated(f"{item.name} has no known C++ form")
    destination, value, members = expect(item, 3)
    kind = "u64" if item.has("b64") else "u32"
    full = state.constant(members)
    text = "" if full is not None and full & 0xFFFFFFFF == 0xFFFFFFFF else f" & {state.read(members, 'u32')}"
    _write_mask(state, destination, f"__match_any({state.read(value, kind)})", text)


def _sleep(state: Lowering, item: Instruction) -> None:
    only(item, {"u32"})
    expect(item, 1)
    # PTX promises only a time in [0, 2t]; s_sleep wants a constant.
    state.lines.append("__builtin_amdgcn_s_sleep(1);")


def _trap(state: Lowering, item: Instruction) -> None:
    only(item, frozenset())
    expect(item, 0)
    state.lines.append("__builtin_trap();" if item.opcode == "trap" else "__builtin_debugtrap();")


def _exit(state: Lowering, item: Instruction) -> None:
    only(item, frozenset())
    expect(item, 0)
    if not state.context.in_kernel_body:
        raise NotTranslated("exit ends the thread; only in a kernel's own body does `return` do that")
    state.lines.append("return;")


def _grid_dependency(state: Lowering, item: Instruction) -> None:
    # Kernels of one HIP stream run one after the other: there is nothing to wait for and nobody to let in early.
    only(item, {"wait", "launch_dependents"})
    expect(item, 0)
    state.lines.append(";")


HANDLERS: dict[str, Handler] = {
    "bar": _barrier, "barrier": _barrier, "activemask": _active_mask, "vote": _vote, "shfl": _shuffle,
    "match": _match, "nanosleep": _sleep, "trap": _trap, "brkpt": _trap, "exit": _exit,
    "griddepcontrol": _grid_dependency,
}  # fmt: skip
