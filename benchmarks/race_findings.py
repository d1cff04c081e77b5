#!/usr/bin/env python3
"""Findings of `--check races` on random kernels, word by word, to compare two revisions of the emulator.

    python benchmarks/race_findings.py --kernels 60 --seed 2 --json before.json          (in the one checkout)
    python benchmarks/race_findings.py --kernels 60 --seed 2 --compare before.json       (in the other)

Kernels are made of loads, stores, atomics and barriers at places drawn by the seed: words, bytes and several words a
lane, in LDS and in global memory. Nobody says here which of them race: the planted ones of the tests do.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from pathlib import Path

import numpy

from kernel_pytorch.emulate.device import EmulatedDevice
from kernel_pytorch.emulate.launch import load
from kernel_pytorch.emulate.run import RunSettings

PLACES = ("t", "t^1", "255-t", "t*7%256", "(t+70)%256", "(t+1)%256", "t/16*16", "t/2", "0", "99", "(t*t)%256")
GLOBAL = ("b*256+t", "b*256+(t^64)", "t", "(b+1)%4*256+t", "b*256+t/4", "b*64+t/4", "(b*256+t+1)%1024", "b*128+t")
STATEMENTS = (
    "s[{at}] = v;", "v += s[{at}];", "bytes[{at}] = (unsigned char)v;", "v += bytes[{at}];", "__syncthreads();",
    "__syncthreads();", "atomicAdd(&s[{at}], 1.0f);", "x[{far}] = v;", "v += x[{far}];", "atomicAdd(&x[{far}], 1.0f);",
    "if (t & {bit}) s[{at}] = v;", "if (t < {some}) v += s[{at}];", "((short *)s)[t] = (short)v;", "__threadfence();",
    "{{ float4 q = ((float4 *)s)[t / 4 ^ {some} % 8]; v += q.x + q.w; }}",
    "((float4 *)x)[b * 64 + t % 64] = float4{{v, v, v, v}};",
    "{{ float4 q = ((float4 *)x)[b * 64 + t % 64]; v += q.y; }}",
    "((float2 *)s)[t / 2] = float2{{v, v}};", "v += ((double *)x)[b * 64 + t % 64];",
    "v += ((volatile float *)x)[{far}];", "((volatile float *)s)[{at}] = v;",
    "for (int i = 0; i < 3; i++) {{ s[t] = v; __syncthreads(); v += s[(t + i) % 256]; __syncthreads(); }}",
    "if (t == 0) while (atomicAdd((unsigned *)x + 1100, 1u) < {some} % 5u) s[0] += 1;",
)  # fmt: skip
HEAD = """__global__ void {name}(float *x) {{
  __shared__ alignas(16) float s[256];
  __shared__ alignas(16) unsigned char bytes[256];
  int t = threadIdx.x, b = blockIdx.x; float v = t; (void)s; (void)bytes; (void)b;
  {body} x[1200 + t] = v;
}}
"""


def kernels(count: int, seed: int) -> tuple[str, dict[str, int]]:
    """The source, and how many blocks each kernel is launched with."""
    chance = random.Random(seed)
    source, blocks = "#include <hip/hip_runtime.h>\n", {}
    for number in range(count):
        body = [
            chance.choice(STATEMENTS).format(
                at=chance.choice(PLACES),
                far=chance.choice(GLOBAL),
                bit=chance.choice((1, 2, 64, 128)),
                some=chance.randrange(256),
            )
            for _ in range(chance.randrange(2, 9))
        ]
        source += HEAD.format(name=f"k{number}", body=" ".join(body))
        blocks[f"k{number}"] = chance.choice((1, 2, 4))
    return source, blocks


def findings(count: int, seed: int, gpu: str) -> dict[str, list[str]]:
    """Of each kernel, the faults as they are printed, without addresses of this machine."""
    source, blocks = kernels(count, seed)
    found = {}
    with EmulatedDevice(gpu, RunSettings(races=True, quiet_faults=True)) as device:
        for name, grid in blocks.items():
            faults = load(device, source, name).launch(grid, 256, numpy.zeros(2048, numpy.float32)).faults
            found[f"{gpu} {name}"] = [re.sub("0x[0-9a-f]{6,}", "ADDRESS", str(fault)) for fault in faults]
    return found


def main() -> int:
    """Runs the kernels; 1 if a finding differs from those in --compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gpu", default="mi300x,rx7900xtx")
    parser.add_argument("--json", type=Path, help="write the findings here")
    parser.add_argument("--compare", type=Path, help="findings of another revision, with the same kernels and seed")
    args = parser.parse_args()
    found: dict[str, list[str]] = {}
    for gpu in args.gpu.split(","):
        found |= findings(args.kernels, args.seed, gpu)
    print(
        f"{len(found)} runs, {sum(map(bool, found.values()))} with findings, {sum(map(len, found.values()))} findings"
    )
    if args.json:
        args.json.write_text(json.dumps(found, indent=1))
    if not args.compare:
        return 0
    before = json.loads(args.compare.read_text())
    other = [name for name in before.keys() | found.keys() if before.get(name) != found.get(name)]
    print(f"{len(other)} differ: {', '.join(sorted(other)) or 'none'}")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
