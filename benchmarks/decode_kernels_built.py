#!/usr/bin/env python3
"""The Triton kernels of decoding and of narrow weights as they are built: registers, LDS and spills for each target.

    python benchmarks/decode_kernels_built.py [--arch gfx942,gfx950,gfx1100,sm_90]

Sizes are those of the tests. LDS and registers of sm_90 are those that ptxas reports. No time: nothing runs here.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.perf.decode import launch
from kernel_pytorch.perf.inspect.nvidia_kernel import ptxas_resources
from kernel_pytorch.toolchain.code_object import read_code_object
from tests.perf.decode.test_decode_kernels import _compiled
from tests.perf.decode.test_decode_kernels import kernels as decoding
from tests.perf.narrow.test_narrow_kernels import TARGETS
from tests.perf.narrow.test_narrow_kernels import kernels as narrow

WARPS = {"one_query_attention": launch.ATTENTION_WARPS, "one_head_attention": launch.HOLDING_WARPS}
GEMMA = {"NORM_PLUS": 1.0}
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "row_times_matrices": [{}, GEMMA],
    "row_times_gated": [{}, {**GEMMA, "GATE": "gelu_tanh"}, {"GATE": "gelu_erf"}],
    "one_query_attention": [{}, {**GEMMA, "CAP": 50.0}, {"NEIGHBOURS": True}],
    "one_head_attention": [{}, {**GEMMA, "CAP": 50.0}, {"NEIGHBOURS": True}],
}


def cells(kernel: Any, types: dict[str, str], constants: dict[str, Any], arch: str) -> str:
    backend, name, wave, _ = TARGETS[arch]
    warps = WARPS.get(kernel.__name__, 4)
    warps *= 2 if arch == "gfx1100" and kernel.__name__ in WARPS else 1  # as `launch` has it
    built = _compiled(kernel, types, constants, (backend, name, wave), warps)
    if backend == "cuda":
        found = ptxas_resources(built.asm["ptx"], gpu_by_alias("h100"), 32 * warps, built.metadata.shared)
        return f"{found.registers} | {found.lds_bytes / 1024:.1f} | {found.spills}"
    (one,) = read_code_object(built.asm["hsaco"]).kernels
    lds_bytes = max(one.lds_bytes, built.metadata.shared)
    return f"{one.vgprs} | {lds_bytes / 1024:.1f} | {one.vgpr_spills}, {one.sgpr_spills}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default=",".join(TARGETS))
    args = parser.parse_args()
    print("| kernel | form | target | registers | LDS KB | spills |\n|---|---|---|---|---|---|")
    for arch in args.arch.split(","):
        for kernel, types, constants in decoding(overlaps=arch == "sm_90"):
            for change in VARIANTS[kernel.__name__]:
                form = ", ".join(f"{name}={value}" for name, value in change.items()) or "as Llama has it"
                found = cells(kernel, types, {**constants, **change}, arch)
                print(f"| {kernel.__name__} | {form} | {arch} | {found} |", flush=True)
        for kernel, types, constants in narrow(TARGETS[arch][3]):
            if constants["KIND"] == "fp8" and not TARGETS[arch][3]:
                continue
            found = cells(kernel, types, constants, arch)
            print(f"| {kernel.__name__} | {constants['KIND']} | {arch} | {found} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
