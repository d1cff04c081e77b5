"""A plain model of what AMD GPU instructions do, for judging the engine.

Written from the ISA documents, one function per mnemonic, in Python integers: slow, obvious, and sharing no text
with the engine's table. `run(wave, "v_add_f32_e32 v0, v1, v2")` carries one instruction out on a `Wave`.
"""

from __future__ import annotations

from . import (  # noqa: F401  (each module registers its mnemonics)
    cdna5,
    conversions,
    cross_lane,
    division,
    lds,
    matrix,
    memory,
    packed,
    scalar,
    scalar_float,
    scalar_memory,
    small_floats,
    transcendental,
    vector_compare,
    vector_float,
    vector_integer,
    wave_matrix,
    wide_conversions,
    wide_wave_matrix,
)
from .registry import MODELS, base_mnemonic, run
from .state import Wave

__all__ = ["MODELS", "Wave", "base_mnemonic", "run"]
