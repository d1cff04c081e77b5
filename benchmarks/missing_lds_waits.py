#!/usr/bin/env python3
"""Loads straight into LDS, and their waits, measured: a pipelined Triton GEMM for gfx950, with and without its waits.

    python benchmarks/missing_lds_waits.py [--stages 2,3] [--types float16,bfloat16] [--json out.json]

Triton loads tiles straight into LDS on gfx950 (`buffer_load ... lds`) and keeps several under way across barriers. The
compiled kernel must give no finding under `--check waits`. Then each wait that names vmcnt is deleted by itself, the
code is assembled again and run. A deletion is expected to be found where a tile load can be under way at the next use
of its bytes. Needs torch and triton.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.device import EmulatedDevice
from kernel_pytorch.emulate.events import Events
from kernel_pytorch.emulate.run import RunSettings
from kernel_pytorch.emulate.triton_launch import TritonCode, kernel_memory
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.toolchain.stages import assemble_device

GPU = "mi355x"
M, N, K = 64, 64, 320


@triton.jit
def gemm(a, b, c, N: tl.constexpr, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # noqa: N803
    """One tile of C."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for step in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + (step + inner)[None, :])
        right = tl.load(b + (step + inner)[:, None] * N + columns[None, :])
        total += tl.dot(left, right)
    tl.store(c + rows[:, None] * N + columns[None, :], total)


def compiled(dtype: str, stages: int) -> TritonCode:
    """The kernel with pointers that are known to be aligned, as Triton's own launcher finds them."""
    signature = {"a": f"*{dtype}", "b": f"*{dtype}", "c": "*fp32"}
    constants = {"N": N, "K": K, "BM": 32, "BN": 32, "BK": 64}
    names = gemm.arg_names
    source = ASTSource(
        gemm,
        {**signature, **dict.fromkeys(constants, "constexpr")},
        constexprs={(names.index(name),): value for name, value in constants.items()},
        attrs={(names.index(name),): [["tt.divisibility", 16]] for name in signature},
    )
    target = gpu_by_alias(GPU).target
    built = triton.compile(
        source,
        target=GPUTarget("hip", target.name, target.wave_size),
        options={"num_warps": 4, "num_stages": stages},
    )
    threads = built.metadata.num_warps * target.wave_size
    return TritonCode(
        built.metadata.name, built.asm["hsaco"], built.asm["amdgcn"], threads, built.metadata.shared, tuple(signature)
    )


def run(device: EmulatedDevice, code: TritonCode, code_object: bytes, assembly: str, values: list) -> Events:
    """One launch of the kernel over the whole product."""
    loaded = device.load(code_object, code.symbol, assembly)
    spare = [None] * (len(loaded.parameters) - len(values))
    missing = max(code.shared_bytes - loaded.resources.lds_bytes, 0)
    given = [kernel_memory(one) for one in values]
    return loaded.launch((M // 32, N // 32), code.threads, *given, *spare, shared_bytes=missing)


def measure(stages: int, dtype: torch.dtype) -> dict[str, object]:
    """Counts for one kernel."""
    gpu = gpu_by_alias(GPU)
    torch.manual_seed(1)
    a, b, out = torch.randn(M, K).to(dtype), torch.randn(K, N).to(dtype), torch.zeros(M, N)
    code = compiled({torch.float16: "fp16", torch.bfloat16: "bf16"}[dtype], stages)
    lines = code.assembly.splitlines(keepends=True)
    loads = sum(bool(re.search(r"load.*\blds\b|load_lds", line.partition(";")[0])) for line in lines)
    waits = [at for at, line in enumerate(lines) if re.match(r"\s*s_waitcnt\b.*vmcnt", line)]
    with EmulatedDevice(gpu, RunSettings(waits=True)) as device:
        whole = run(device, code, code.code_object, code.assembly, [a, b, out])
        assert torch.allclose(out, (a.double() @ b.double()).float(), rtol=1e-2, atol=1e-1)
        found, left = 0, []
        for at in waits:
            # Triton's LLVM is newer than clang 22 and names the target in another way.
            text = re.sub(r"\.amdgcn_target.*", "", "".join(lines[:at] + lines[at + 1 :]))
            mutated = assemble_device(text, gpu.target.name, find_toolchain())
            events = run(device, code, mutated, text, [a, b, out])
            if any(fault.kind == "wait" for fault in events.faults):
                found += 1
            else:
                left.append(f"{at}: {lines[at].strip()}")
    return {
        "stages": stages, "type": str(dtype).removeprefix("torch."), "loads into LDS": loads,
        "findings in compiler output": len([one for one in whole.faults if one.kind == "wait"]),
        "waits deleted": len(waits), "found": found, "not found": left,
    }  # fmt: skip


def main() -> int:
    """Measures, prints a row for each kernel."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stages", default="2,3")
    parser.add_argument("--types", default="float16")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = []
    for dtype in args.types.split(","):
        for stages in args.stages.split(","):
            rows.append(measure(int(stages), getattr(torch, dtype)))
            print(rows[-1], flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    return 1 if any(row["findings in compiler output"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
