"""The collectives of CUDA's warp: what each takes, and what its HIP counterpart is called."""

from __future__ import annotations

from dataclasses import dataclass

from kernel_pytorch.port.cxx.sought import Watched
from kernel_pytorch.port.cxx.source import CxxFile, read_once


@dataclass(frozen=True)
class Collective:
    """One warp intrinsic. Argument numbers count from 0; None where there is no such argument."""

    name: str
    family: str  # shuffle, ballot, any, all, activemask, match-any, match-all, reduce, syncwarp
    mask: int | None
    width: int | None
    plain: str  # the form without a mask, which every HIP release has


def _table() -> dict[str, Collective]:
    rows: list[Collective] = []
    for form in ("", "_up", "_down", "_xor"):
        rows.append(Collective(f"__shfl{form}_sync", "shuffle", 0, 3, f"__shfl{form}"))
        rows.append(Collective(f"__shfl{form}", "shuffle", None, 2, f"__shfl{form}"))
    for form in ("ballot", "any", "all"):
        rows.append(Collective(f"__{form}_sync", form, 0, None, f"__{form}"))
        rows.append(Collective(f"__{form}", form, None, None, f"__{form}"))
    rows.append(Collective("__activemask", "activemask", None, None, "__activemask"))
    rows.append(Collective("__match_any_sync", "match-any", 0, None, "__match_any"))
    rows.append(Collective("__match_all_sync", "match-all", 0, None, "__match_all"))
    for form in ("add", "min", "max", "and", "or", "xor"):
        rows.append(Collective(f"__reduce_{form}_sync", "reduce", 0, None, ""))
    rows.append(Collective("__syncwarp", "syncwarp", 0, None, "__syncwarp"))
    return {row.name: row for row in rows}


COLLECTIVES = _table()

# Functions of a 32-bit word that people apply to lane masks, with their 64-bit forms.
MASK_READERS = {
    "__popc": "__popcll",
    "__ffs": "__ffsll",
    "__clz": "__clzll",
    "__brev": "__brevll",
    "__builtin_popcount": "__builtin_popcountll",
    "__builtin_ctz": "__builtin_ctzll",
    "__builtin_clz": "__builtin_clzll",
    "__builtin_ffs": "__builtin_ffsll",
}

MASK_FAMILIES = frozenset({"ballot", "activemask", "match-any", "match-all"})

# A file without one of these has nothing to do with waves, and is never parsed. Plain strings: searching for twenty of
# them is far faster than one pattern with twenty branches.
_WAVE_WORDS = (
    b"__shfl", b"__ballot", b"__any_sync", b"__any(", b"__all_sync", b"__all(", b"__match_", b"__reduce_",
    b"__syncwarp", b"__activemask", b"arpSize", b"arp_size", b"arpsize", b"WARP_SIZE", b"WARPSIZE", b"cub::Warp",
    b"cooperative_groups", b"tiled_partition", b"laneid", b"lanemask_", b"LaneId", b"WarpId",
    b"__AMDGCN_WAVEFRONT_SIZE", b"64 : 32", b".ballot(", b".match_any(", b".match_all(",
)  # fmt: skip
# Lockstep and locks: words that plain C++ uses as well, so they count in device code only.
_LOCKSTEP_WORDS = (b"atomicCAS", b"atomicExch", b"volatile", b"TempStorage")
_DEVICE_WORDS = (b"__device__", b"__global__")
_FUNCTION_WORDS = (b"threadIdx", b"<<<", *_DEVICE_WORDS, *_WAVE_WORDS, *_LOCKSTEP_WORDS)
_WATCHED = Watched((*_WAVE_WORDS, *_LOCKSTEP_WORDS, *_DEVICE_WORDS))


@read_once  # every file of a unit is asked for again where one of them changes
def is_wave_file(source: CxxFile) -> bool:
    """Whether a file says anything about warps, lockstep or locks on the device."""
    present = _WATCHED.present(source)
    if not present.isdisjoint(_WAVE_WORDS):
        return True
    return not present.isdisjoint(_LOCKSTEP_WORDS) and not present.isdisjoint(_DEVICE_WORDS)


def is_wave_function(data: bytes, start: int, end: int) -> bool:
    """Whether a function, or a macro's body, is worth a look."""
    return any(data.find(word, start, end) >= 0 for word in _FUNCTION_WORDS)
