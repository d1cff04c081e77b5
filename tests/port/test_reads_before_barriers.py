"""A value read before a barrier is the one that was there before it, whatever branch uses it (KP331)."""

from __future__ import annotations

import re

import numpy as np
import pytest

from kernel_pytorch.emulate.device import EmulatedDevice
from kernel_pytorch.emulate.launch import device_code, launch_on
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file

# In each the compiler has a branch or a loop on which all threads agree, and moves the read there if nothing stops it.
HEAD = """extern "C" __global__ void __launch_bounds__(256) {name}(const float* in, float* out, int n) {{
  __shared__ float s[256];
  float sum = 0;
  s[threadIdx.x] = in[threadIdx.x];
"""
READ = "  __syncthreads(); float v = s[threadIdx.x ^ 97]; __syncthreads();\n"
BODIES = {
    "branch": READ + "  if (n > 0) { s[threadIdx.x] = in[256 + threadIdx.x]; __syncthreads(); sum = v + s[n]; }\n",
    "leaves": READ + "  if (n == 0) return;\n"
    "  s[threadIdx.x] = in[256 + threadIdx.x]; __syncthreads(); sum = v + s[n];\n",
    "preheader": READ + "  for (int i = 0; i < n; ++i) { s[threadIdx.x] = in[256 * i + threadIdx.x]; __syncthreads();"
    " sum += v + s[n]; __syncthreads(); }\n",
    "tiles": f"  for (int i = 1; i <= n; ++i) {{ {READ}"
    "    if (i < n) s[threadIdx.x] = in[256 * i + threadIdx.x]; sum += v; }\n",
}  # fmt: skip
SOURCE = "".join(f"{HEAD.format(name=name)}{body}  out[threadIdx.x] = sum;\n}}\n" for name, body in BODIES.items())


def ported() -> str:
    result = hipify_file(cxx_file("a.cu", SOURCE.encode()), None, HipifyOptions())
    assert {finding.code for finding in result.findings} == {"KP331"}
    return result.after.decode()


def expected(name: str, data: np.ndarray, n: int) -> np.ndarray:
    other = np.arange(256) ^ 97
    if name == "tiles":
        return data[:n, other].sum(axis=0)
    if name == "preheader":
        return n * data[0, other] + data[:n, n].sum()
    return data[0, other] + data[1, n]


def test_no_read_passes_the_barrier_that_follows_it() -> None:
    """The read that is kept stands between the first two barriers."""
    assembly = device_code(ported(), "mi300x").assembly
    for name in ("branch", "leaves", "preheader"):
        body = assembly[assembly.index(f"\n{name}:") : assembly.index("s_endpgm", assembly.index(f"\n{name}:"))]
        order = re.findall(r"^\s+(s_barrier|ds_read)", body, re.MULTILINE)
        assert order[:3] == ["s_barrier", "ds_read", "s_barrier"], name


@pytest.mark.slow
@pytest.mark.parametrize("gpu", ["mi300x", "rx7900xtx"])
def test_other_waves_may_write_at_once(gpu: str) -> None:
    data = np.random.default_rng(0).integers(0, 100, (4, 256)).astype(np.float32)
    with EmulatedDevice(gpu) as device:
        for name in BODIES:
            out = np.zeros(256, np.float32)
            launch_on(device, ported(), 1, 256, data, out, np.int32(4 if name == "tiles" else 3), name=name)
            wanted = expected(name, data, 4 if name == "tiles" else 3)
            assert np.array_equal(out, wanted), name
