"""Instructions of functions that have no instruction of their own: what erf or tanh costs a lane for each element.

Counted in what clang 22 makes of each for gfx942 in fp32, beyond a kernel that only adds, all branches together:
the lanes of a wave rarely agree on one.
"""

from __future__ import annotations

from collections.abc import Iterable

INSTRUCTIONS = {
    "exp": 19,
    "exp2": 11,
    "expm1": 32,
    "log": 19,
    "log2": 10,
    "log10": 19,
    "log1p": 135,
    "sigmoid": 31,
    "silu": 31,
    "silu_backward": 35,
    "tanh": 43,
    "erf": 52,
    "gelu": 55,
    "gelu_backward": 77,
    "mish": 183,
    "softplus": 146,
    "elu": 34,
    "selu": 34,
    "sin": 143,
    "cos": 139,
    "tan": 144,
    "atan2": 50,
}


def instructions(names: Iterable[str]) -> int:
    """Of all the functions among these names, for one element."""
    return sum(INSTRUCTIONS.get(name, 0) for name in names)
