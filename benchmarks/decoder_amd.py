#!/usr/bin/env python3
"""AMD's one-kernel decoder as its code object has it: registers, LDS, spills, what runs at once, instructions.

    python benchmarks/decoder_amd.py [--arch gfx942,gfx950] [--match NAME] [--emulate]

Built here for the sizes of real decoders and the compute units of an MI300X and an MI355X. "in flight" is what the
eight waves of a compute unit have asked for and not used yet; "instructions a KB" counts those of a wave in its loop
over rows of a matrix, for each KB of weights that it multiplies. No time: there is no AMD GPU here. --emulate runs the
machine code of small decoders with all programs at once and compares with float32 and with five kernels a layer.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import replace
from typing import Any

from kernel_pytorch.core.hardware import target
from kernel_pytorch.perf.decode.cdna import decoder_launch
from kernel_pytorch.perf.decode.cdna.decoder_shape import THREADS, WAVE, WAVES, DecoderShape
from kernel_pytorch.perf.decode.form import Form
from kernel_pytorch.toolchain.occupancy import occupancy

UNITS = {"gfx90a": 110, "gfx942": 304, "gfx950": 256}
LOAD_BYTES = 16 * WAVE
GEMMA = Form("gelu_tanh", norm_plus=1.0)
# layers, hidden, MLP, words, heads, key-value heads, size of a head, cache; and what else the decoder has
MODELS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "TinyLlama-1.1B": ((22, 2048, 5632, 32000, 32, 4, 64, 2048), {}),
    "Llama-3.2-1B": ((16, 2048, 8192, 128256, 32, 8, 64, 2048), {}),
    "Llama-3.2-3B": ((28, 3072, 8192, 128256, 24, 8, 128, 2048), {}),
    "Llama-3-8B": ((32, 4096, 14336, 128256, 32, 8, 128, 8192), {}),
    "Mistral-7B, 32k keys": ((32, 4096, 14336, 32768, 32, 8, 128, 32768), {}),
    "Qwen2-0.5B": ((24, 896, 4864, 151936, 14, 2, 64, 2048), {"has_qkv_biases": True}),
    "Qwen3-0.6B": ((28, 1024, 3072, 151936, 16, 8, 128, 2048), {"has_head_norms": True}),
    "Gemma-2-2B": (
        (26, 2304, 9216, 256000, 8, 4, 256, 4096),
        {"has_after_norms": True, "kinds": 2, "form": replace(GEMMA, cap=50.0)},
    ),
    "Gemma-3-1B": (
        (26, 1152, 6912, 262144, 4, 1, 256, 4096),
        {"has_after_norms": True, "has_head_norms": True, "kinds": 2, "form": GEMMA},
    ),
    "GLM-4-9B": (
        (40, 4096, 13696, 151552, 32, 2, 128, 8192),
        {"has_qkv_biases": True, "turned": 64, "form": Form(neighbours=True)},
    ),
    "heads of 80": ((32, 2560, 10240, 51200, 32, 32, 80, 2048), {}),
    "heads of 256": ((26, 2304, 9216, 256000, 8, 4, 256, 4096), {}),
}


def loops(assembly: str) -> list[list[str]]:
    """Innermost loops: from a label to a branch back to it, forward branches inside included."""
    lines = [raw.split(";")[0].strip() for raw in assembly.splitlines()]
    lines = [line for line in lines if line and (not line.startswith(".") or line.startswith(".LBB"))]
    places = {line[:-1]: number for number, line in enumerate(lines) if line.endswith(":")}
    found = []
    for number, line in enumerate(lines):
        start = places.get(line.split()[-1], number) if line.startswith("s_cbranch") else number
        if start < number and not any(start <= first and last <= number for first, last in found):
            found.append((start, number))
    return [[line for line in lines[first : last + 1] if not line.endswith(":")] for first, last in found]


def instructions_per_kb(assembly: str) -> float | None:
    """Of the loop that asks for most weights; None where all of them are held at once."""
    best = max(loops(assembly), key=lambda body: len(_weights(body)), default=[])
    asked = len(_weights(best))
    return len(best) / (asked * LOAD_BYTES / 1024) if asked else None


def _weights(body: list[str]) -> list[str]:
    return [line for line in body if re.match(r"buffer_load_dwordx4.*\bnt$", line)]


def row(name: str, arch: str) -> str:
    sizes, more = MODELS[name]
    shape = DecoderShape(*sizes, programs=UNITS[arch], has_bias=True, **more)
    built = decoder_launch.built(shape, arch, keep_assembly=True)
    (resources,) = built.kernel.resources
    held = occupancy(resources, target(arch), THREADS)
    flight = WAVES * built.shape.held * LOAD_BYTES // 1024
    rate = instructions_per_kb(built.kernel.assembly or "")
    spills = f"{resources.vgpr_spills}, {resources.sgpr_spills}"
    share = shape.weight_bytes / shape.programs / 1e6
    return (
        f"| {name} | {arch} | {shape.programs} | {share:.1f} | {resources.vgprs} | {resources.sgprs} "
        f"| {resources.lds_bytes / 1024:.1f} | {spills} | {held.workgroups_per_unit} "
        f"| {flight} | {'-' if rate is None else f'{rate:.0f}'} |"
    )


def emulate() -> int:
    """The comparisons of the test suite, slow ones included."""
    import pytest

    return int(
        pytest.main(
            [
                "-q",
                "-p",
                "no:cacheprovider",
                "-k",
                "emulated or sizes or forms or mask or mi355x or five",
                "tests/perf/decode/test_cdna_decoder.py",
            ]
        )
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="gfx942,gfx950")
    parser.add_argument("--match", default="")
    parser.add_argument("--emulate", action="store_true")
    args = parser.parse_args()
    columns = ["decoder", "target", "programs", "MB of weights each", "VGPRs", "SGPRs", "LDS KB", "spills of V, S"]
    columns += ["programs a CU could hold", "KB in flight a CU", "instructions a KB"]
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    for name in MODELS:
        for arch in args.arch.split(","):
            if args.match in name:
                print(row(name, arch), flush=True)
    return emulate() if args.emulate else 0


if __name__ == "__main__":
    sys.exit(main())
