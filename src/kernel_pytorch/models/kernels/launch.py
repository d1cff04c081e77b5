"""How a kernel is launched on a card: block sizes, threads and programs, from the facts of its target.

Threads are chosen first, since they decide registers and memory requests in flight; waves follow from the width of a
wave. The figures are those that were fastest on an H200 (benchmarks/kernels_h200.py); for AMD they are built without
spills and not timed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from kernel_pytorch.core.hardware import Target

if TYPE_CHECKING:
    import torch

# Values of a row that a thread holds; more spill.
LONGEST_ROW = 32768
LONGEST_BACKWARD_ROW = 16384
LONGEST_CENTERED_BACKWARD_ROW = 8192


@dataclass(frozen=True)
class Card:
    """What launches depend on."""

    vendor: str
    wave_size: int
    units: int
    """Compute units or multiprocessors."""
    max_threads: int = 1024

    @staticmethod
    def of_target(target: Target, units: int) -> Card:
        """A card with this target."""
        return Card(target.vendor, target.wave_size, units, target.max_threads_per_workgroup)


@dataclass(frozen=True)
class Launch:
    """Constants of a kernel and the options Triton takes beside them."""

    block: int
    rows: int
    threads: int
    programs: int = 0
    prefetch: bool = False
    hold: bool = False
    waves_per_eu: int = 0

    def options(self, card: Card) -> dict[str, int]:
        """Triton's options on this card."""
        waves = max(min(self.threads, card.max_threads) // card.wave_size, 1)
        if card.vendor == "amd" and self.waves_per_eu:
            return {"num_warps": waves, "waves_per_eu": self.waves_per_eu}
        return {"num_warps": waves}


def card_of(device: torch.device) -> Card:
    """The card behind a torch device; for a CPU, on which Triton's interpreter runs, a small one."""
    if device.type != "cuda":
        return Card("nvidia", 32, 2)
    import torch

    return _card(torch.cuda.current_device() if device.index is None else device.index)


@lru_cache(maxsize=64)
def _card(index: int) -> Card:
    import torch

    facts = torch.cuda.get_device_properties(index)
    return Card("amd" if torch.version.hip else "nvidia", facts.warp_size, facts.multi_processor_count)


def power_of_two(number: int) -> int:
    """The smallest power of two that is not smaller."""
    return 1 << max(number - 1, 0).bit_length()


def norm_forward(card: Card, length: int) -> Launch:
    """One program for a row, or for several short ones; past LONGEST_ROW the row goes through in pieces."""
    if length > LONGEST_ROW:
        return Launch(block=8192, rows=1, threads=512)
    block = max(power_of_two(length), 16)
    rows = max(1024 // block, 1)
    threads = _threads(block * rows, per_thread=16 if block <= 4096 else 32, least=64)
    return Launch(block, rows, threads, waves_per_eu=_waves(card, block))


def norm_backward(card: Card, length: int, rows: int, *, center: bool) -> Launch:
    """Programs that stay on the card and take rows in turn, so that the weight's gradient is summed in registers."""
    block = max(power_of_two(length), 16)
    tile = max(1024 // block, 1)
    # Two sums a column leave LayerNorm fewer registers: fewer threads with more of them.
    spare = center and block >= 4096
    threads = _threads(block * tile, per_thread=16 if spare else 8, least=128)
    per_unit = max((512 if spare else 1024) // threads, 1)
    programs = max(min(-(-rows // tile), card.units * per_unit), 1)
    short = block <= 8192
    return Launch(block, tile, threads, programs, prefetch=short, hold=short and not center)


def fits_backward(length: int, *, center: bool) -> bool:
    """Does a row with its sums fit into the registers of one program?"""
    return length <= (LONGEST_CENTERED_BACKWARD_ROW if center else LONGEST_BACKWARD_ROW)


def gated(card: Card, length: int) -> Launch:
    """Blocks of a row."""
    block = max(min(power_of_two(length), 1024), 64)
    return Launch(block, 1, _threads(block, per_thread=8, least=64))


def rope(card: Card, rows: int, half: int) -> Launch:
    """Tiles of heads or tokens of about 1024 pairs."""
    width = power_of_two(half)
    tile = max(min(power_of_two(rows), 1024 // width), 1)
    return Launch(width, tile, _threads(tile * width, per_thread=16, least=64))


def _threads(values: int, per_thread: int, least: int) -> int:
    return min(max(values // per_thread, least), 1024)


def _waves(card: Card, block: int) -> int:
    # Two waves of each SIMD hide memory latency; more would take registers from long rows.
    return 2 if card.vendor == "amd" and block <= 8192 else 0
