"""The GPU that a name stands for where machine code is emulated: a product, or an instruction set without one.

gfx1250 is published as an instruction set only: no product with it has public compute units and clocks. Programs ask
for such figures all the same, so the emulated GPU states some. Nothing may be predicted from them: `confidence` is
"stated", there are no peak rates, and whatever computes with clocks looks GPUs up in the table, which has no such row.
"""

from __future__ import annotations

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import GPU, Target, base_target, gpu_by_alias, target, usual_gpu

STATED = "stated"
#: Small round numbers: a program that starts as many blocks as there are compute units ends soon.
_COMPUTE_UNITS, _CLOCK_MHZ, _MEMORY_GIB, _BANDWIDTH_GBS, _BUS_BITS, _L2_MIB = 32, 1000, 64, 1000, 1024, 4


def gpu_to_emulate(name: str) -> GPU:
    """The AMD product of that name, the usual one of that target, or the bare instruction set.

    Raises UnknownTargetError for a name that is neither, UsageError for another vendor's GPU.
    """
    if base_target(name).startswith("gfx"):
        facts = target(name)
        found = usual_gpu(facts.name) or bare_instruction_set(facts)
    else:
        found = gpu_by_alias(name)
    if found.vendor != "amd":
        raise UsageError(f"{found.name} is not an AMD GPU: only those are emulated")
    return found


def bare_instruction_set(facts: Target) -> GPU:
    """A GPU with what the instruction set fixes, and stated figures for the rest."""
    return GPU(
        name=facts.name, alias=facts.name, vendor=facts.vendor, target=facts, name_hint=facts.name,
        devices_per_board=1, memory_gib=_MEMORY_GIB, memory_type="", bandwidth_gbs=_BANDWIDTH_GBS,
        compute_units=_COMPUTE_UNITS, boost_mhz=_CLOCK_MHZ, l2_mib=_L2_MIB, mall_mib=0, peak={}, matrix_units=0,
        achievable={}, bus_bits=_BUS_BITS, xccs=1, links_gbs=0, link_peers=0, usual=False, source="", confidence=STATED,
    )  # fmt: skip


def stated_figures(gpu: GPU) -> str:
    """A sentence on what of a GPU is no product's; empty for a product."""
    if gpu.confidence != STATED:
        return ""
    return (
        f"no product with {gpu.target.name} has published figures: {gpu.compute_units} compute units, "
        f"{gpu.boost_mhz:.0f} MHz and {gpu.memory_gib:.0f} GiB are stated here, and mean nothing"
    )
