"""Kernels with exactly known resources: LLVM IR whose inline assembly names the registers to count.

Compiles in milliseconds with the clang in ziglang and needs no headers. Results are kept for the whole test run.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

CLANG = (sys.executable, "-m", "ziglang", "clang", "--target=amdgcn-amd-amdhsa", "-nogpulib", "-Wno-override-module")


@dataclass(frozen=True)
class Spec:
    """What one kernel is to use; `size` is the range of workgroup sizes it declares."""

    vgprs: int = 0
    agprs: int = 0
    sgprs: int = 0
    lds: int = 0
    size: tuple[int, int] = (1, 256)
    features: str = ""


def kernel_ir(name: str, spec: Spec) -> str:
    """One kernel; numbered attribute groups keep them apart."""
    named = (("v", spec.vgprs), ("a", spec.agprs), ("s", spec.sgprs))
    clobbers = ",".join(f"~{{{letter}{count - 1}}}" for letter, count in named if count)
    lines = []
    if spec.lds:
        lines.append(f"@{name}.lds = internal addrspace(3) global [{spec.lds} x i8] poison, align 16")
    features = f' "target-features"="{spec.features}"' if spec.features else ""
    low, high = spec.size
    lines.append(
        f'define amdgpu_kernel void @{name}() nounwind "amdgpu-flat-work-group-size"="{low},{high}"{features} {{'
    )
    if spec.lds:
        lines.append(f"  store volatile i8 1, ptr addrspace(3) @{name}.lds")
    if clobbers:
        lines.append(f'  call void asm sideeffect "", "{clobbers}"()')
    return "\n".join([*lines, "  ret void", "}", ""])


@cache
def compile_ir(text: str, processor: str, *flags: str) -> bytes:
    """What clang makes of LLVM IR: an unlinked code object, or text with -S."""
    pytest.importorskip("ziglang")
    with tempfile.TemporaryDirectory() as directory:
        source, result = Path(directory) / "kernels.ll", Path(directory) / "result"
        source.write_text(text)
        mode = () if "-S" in flags else ("-c",)
        command = [*CLANG, f"-mcpu={processor}", "-O1", *mode, *flags, str(source), "-o", str(result)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return result.read_bytes()


@cache
def link(*payloads: bytes) -> bytes:
    """A loadable code object out of unlinked ones."""
    with tempfile.TemporaryDirectory() as directory:
        result = Path(directory) / "a.hsaco"
        sources = [Path(directory) / f"{index}.o" for index in range(len(payloads))]
        for source, payload in zip(sources, payloads, strict=True):
            source.write_bytes(payload)
        command = [sys.executable, "-m", "ziglang", "ld.lld", "-shared", "-o", str(result), *map(str, sources)]
        subprocess.run(command, check=True, capture_output=True)
        return result.read_bytes()


def build(specs: tuple[Spec, ...], processor: str) -> bytes:
    """A code object with one kernel k0, k1, ... per spec."""
    return compile_ir("".join(kernel_ir(f"k{i}", spec) for i, spec in enumerate(specs)), processor)


def llvm_occupancy(specs: tuple[Spec, ...], processor: str) -> dict[str, int]:
    """LLVM's own `; Occupancy:` figure per kernel."""
    text = compile_ir("".join(kernel_ir(f"k{i}", spec) for i, spec in enumerate(specs)), processor, "-S").decode()
    found: dict[str, int] = {}
    current = ""
    for line in text.splitlines():
        if label := re.match(r"(k\d+):", line):
            current = label[1]
        elif figure := re.search(r"; Occupancy: (\d+)", line):
            found[current] = int(figure[1])
    return found
