"""Types and constants of a kernel's parameters where the source does not say: usual ones, and listed as assumed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernel_pytorch.perf.inspect.find_kernels import FoundKernel, Parameter

_FLOAT = re.compile(r"(^|_)(eps|epsilon|scale|alpha|beta|lr|p|prob|temperature|softcap|smoothing|momentum|wd|factor|"
                    r"gamma|delta|limit|inv_\w+|weight_decay|offset_value)$", re.IGNORECASE)  # fmt: skip
_INDEX = re.compile(r"(^|_)(idx|index|indices|ids?|target|targets|label|labels|seqlens?|tokens?|mask)(_ptr)?$|"
                    r"seqlens|_idx|indices", re.IGNORECASE)  # fmt: skip
_FLAG = re.compile(
    r"^(HAS|IS|USE|DO|RETURN|ENABLE|WITH|STORE|COMPUTE|REVERSE|INIT|CASTING)|_(FLAG|MASK)$|^(has|is|use)_"
)
_BLOCK = re.compile(r"BLOCK|TILE|CHUNK|GROUP", re.IGNORECASE)


@dataclass(frozen=True)
class Sizes:
    """What a number that nobody says is taken for: the only block size, one of several, anything else."""

    only_block: int
    block: int
    other: int


USUAL = Sizes(1024, 64, 128)
SMALL = Sizes(64, 16, 4)
"""Where the usual ones do not compile in time: tiles with the one block size on both sides, unrolled loops."""


def parameter_type(parameter: Parameter, element: str, index: str = "i64") -> str:
    """Triton's type of a parameter that is no constant."""
    if parameter.kind == "pointer":
        if parameter.element:
            return f"*{parameter.element}"
        counts = parameter.is_index or _INDEX.search(parameter.name)
        return f"*{index}" if counts else f"*{element}"
    if parameter.is_bool:
        return "i1"
    return "fp32" if parameter.is_float or _FLOAT.search(parameter.name) else "i32"


def constant(parameter: Parameter, kernel: FoundKernel, flags: bool = True, sizes: Sizes = USUAL) -> object:
    """A value for a constexpr that neither a call, a default nor a configuration gives."""
    name = parameter.name
    if re.search(r"dtype", name, re.IGNORECASE):
        return "float32"
    if _BLOCK.search(name):
        blocks = [one for one in kernel.parameters if one.kind == "constexpr" and _BLOCK.search(one.name)]
        return sizes.only_block if len(blocks) == 1 else sizes.block
    if parameter.is_bool or _FLAG.search(name):
        return flags
    if _FLOAT.search(name):
        return 1.0
    if re.search(r"(act|mode|type)", name, re.IGNORECASE):
        return 0
    return sizes.other
