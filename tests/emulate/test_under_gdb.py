"""`--under gdb`: a breakpoint at a line of a kernel, the values of one lane, and code that still computes the same."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = """#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void twice(int *x, int by) {
  int v = x[threadIdx.x] * by;
  if (threadIdx.x > 3)
    v += 1000;
  x[threadIdx.x] = v;
}
int main() {
  int h[64], *x;
  for (int i = 0; i < 64; i++) h[i] = i + 1;
  if (hipMalloc(&x, sizeof h) != hipSuccess) return 2;
  (void)hipMemcpy(x, h, sizeof h, hipMemcpyHostToDevice);
  twice<<<1, 64>>>(x, 3);
  (void)hipMemcpy(h, x, sizeof h, hipMemcpyDeviceToHost);
  printf("%d %d\\n", h[3], h[5]);
}
"""
STORED = 7  # the line of the store


def test_a_breakpoint_in_a_kernel_shows_a_lane(tmp_path: Path) -> None:
    gdb = shutil.which("gdb")
    if gdb is None:
        pytest.skip("no gdb on this machine")
    traced = subprocess.run(
        [gdb, "-batch", "-ex", "run", shutil.which("true") or "true"], capture_output=True, text=True
    )
    if "exited normally" not in traced.stdout:
        pytest.skip("gdb may not trace processes here")
    source = tmp_path / "lanes.hip"
    source.write_text(SOURCE)
    steps = [
        f"break lanes.hip:{STORED}",
        "run",
        "kpt-wave",
        "kpt-lane 5",
        "kpt-vgpr 0:2",
        "kpt-lanes 0",
        "kpt-vgpr 900",
        "delete",
        "continue",
    ]
    words = " ".join(f"-ex '{step}'" for step in steps)
    command = [
        sys.executable,
        "-m",
        "kernel_pytorch",
        "emulate",
        str(source),
        "--under",
        f"{gdb} -batch {words} --args",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    out = done.stdout + done.stderr
    assert f"lanes.hip:{STORED}" in out and "x[threadIdx.x] = v;" in out, out
    assert "block (0, 0, 0), wave 0 of 64 lanes" in out and "64 lanes on" in out
    assert "lane 5, thread 5 of its block, on" in out
    values = {line.split()[2] for line in out.splitlines() if line.startswith("v") and "[5]" in line}
    assert "1018" in values, out  # (5 + 1) * 3 + 1000, in whichever register the compiler keeps it
    assert out.count("v0[") == 1 + 64
    assert "900: expected numbers from 0 to" in out
    assert "12 1018" in out
