#!/usr/bin/env python3
"""Hashes of what Triton makes of the decoding kernels, for shapes that were there before a change and must not change.

    TRITON_DISABLE_LINE_INFO=1 python benchmarks/decode_kernels_hash.py > before.txt     and again after it

Without lines of source two equal kernels give equal text: PTX for compute capability 9.0, assembly for gfx942.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.perf.decode.test_decode_kernels import _compiled, kernels

TARGETS = {"sm_90": ("cuda", 90, 32, "ptx"), "gfx942": ("hip", "gfx942", 64, "amdgcn")}
WIDE = {"SIZE": 128, "WIDTH": 128, "TURNED": 128}
CHANGES: dict[str, list[dict[str, Any]]] = {
    "row_times_matrices": [{}, {"HAS_BIAS": True, "MATRICES": 1}, {"EVEN": False, "HAS_NORM": False}],
    "row_times_gated": [{}, {"EVEN": False, "HAS_NORM": False}],
    "one_query_attention": [{}, {"NORMS": False, **WIDE, "PARTS": 1}, {"WRITES": False, "ROTATES": False}],
    "one_head_attention": [{}, {"NORMS": False, "HAS_BIAS": False, **WIDE, "BLOCK": 128}],
}


def main() -> int:
    if os.environ.get("TRITON_DISABLE_LINE_INFO") != "1":
        print("set TRITON_DISABLE_LINE_INFO=1: lines of source are in the text otherwise", file=sys.stderr)
        return 2
    for name, (backend, arch, wave, kind) in TARGETS.items():
        for kernel, types, constants in kernels(overlaps=backend == "cuda"):
            for change in CHANGES[kernel.__name__]:
                text = _compiled(kernel, types, {**constants, **change}, (backend, arch, wave)).asm[kind]
                digest = hashlib.sha256(text.encode()).hexdigest()[:16]
                print(f"{digest}  {name}  {kernel.__name__}  {change}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
