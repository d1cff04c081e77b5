"""Beginning and ending runs of lane-wise instructions."""

from __future__ import annotations

from kernel_pytorch.emulate.codegen.emission import Emission
from kernel_pytorch.emulate.codegen.lane_run import LaneRun, loops, mask_arrays
from kernel_pytorch.emulate.codegen.outline import outlined


def begin_run(em: Emission) -> LaneRun:
    """Start a run at the current instruction. Its captures live in a C block that `flush` closes."""
    assert em.run is None
    em.run = LaneRun(inline=em.in_place())
    em.put("{")
    return em.run


def flush(em: Emission) -> None:
    """Write the loop of the run, if one is open, and the masks it made."""
    run = em.run
    if run is None:
        return
    em.run = None
    live = em.liveness
    stored = [key for key in run.written if live is None or live.needs(em.position, key)]
    if live is not None:
        for first in [first for first in run.mask_names if first >= 0]:
            words = (first, first + 1) if em.shape.wave == 64 else (first,)
            if not any(live.needs_scalar(em.position, word) for word in words):
                del run.mask_names[first]
    if stored or run.mask_names:
        if run.rounding is not None:
            em.put(f"kpt_round_as(mode, {run.rounding});")
        for line in mask_arrays(run):
            em.put(line)
        lines = loops(run, stored)
        if run.inline:
            em.lines += lines
        else:
            name, function, call = outlined(lines, run.parameters, em.shape.mode_changes)
            em.helpers[name] = function
            em.put(call)
        if run.rounding is not None:
            em.put(f"kpt_round_to_nearest(mode, {run.rounding});")
    wave = em.shape.wave
    enabled = f"ex & {run.lanes_on}" if run.lanes_on else "ex"
    exec_name = None
    for first, name in run.mask_names.items():
        bits = f"kpt_collect({name}) & ({enabled})"
        if first == -1:
            exec_name = name
        elif wave == 64:
            low, high = em.sgpr(first), em.sgpr(first + 1)
            em.put(f"{{ const uint64_t wide = {bits}; {low} = (uint32_t)wide; {high} = (uint32_t)(wide >> 32); }}")
        else:
            em.put(f"{em.sgpr(first)} = (uint32_t)({bits});")
    if exec_name is not None:
        em.put(f"ex = kpt_collect({exec_name}) & ({enabled});")
    em.put("}")
