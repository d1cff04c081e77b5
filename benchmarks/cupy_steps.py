#!/usr/bin/env python3
"""CuPy's ROCm wheel on an emulated GPU: each step computes something on the device and compares it with NumPy.

    python -m venv cupy && cupy/bin/pip install cupy-rocm-7-0
    kpt emulate --gpu mi300x -- cupy/bin/python benchmarks/cupy_steps.py

Nothing of CuPy is changed. Exit status 1 if a step fails. `--match` takes the steps whose name matches.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable

import cupy as cp
import numpy as np

RANDOM = np.random.RandomState(0)
X, M, Q = (RANDOM.rand(*shape).astype(np.float32) for shape in ((1000,), (32, 24), (24, 16)))
DX, DM, DQ = cp.asarray(X), cp.asarray(M), cp.asarray(Q)
ADD_ONE = r"""
extern "C" __global__ void add_one(const float *a, float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i] + 1;
}
"""


def same(got: object, expected: object, tolerance: float = 1e-5) -> bool:
    """Whether a device array holds what NumPy gives."""
    return bool(np.allclose(cp.asnumpy(got), expected, rtol=tolerance, atol=tolerance))


def raw_kernel(backend: str) -> bool:
    """A kernel of one's own, by hiprtc or by hipcc."""
    kernel = cp.RawKernel(ADD_ONE, "add_one", backend=backend)
    out = cp.empty_like(DX)
    kernel((4,), (256,), (DX, out, np.int32(1000)))
    return same(out, X + 1)


def own_stream() -> bool:
    """Work on a stream that does not wait for the default one."""
    cp.cuda.get_current_stream().synchronize()
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        out = DX * 3
    stream.synchronize()
    return same(out, X * 3)


STEPS: dict[str, Callable[[], bool]] = {
    "elementwise": lambda: same(cp.sin(DX) * 2 + DX**2, np.sin(X) * 2 + X**2),
    "reduction": lambda: same(DX.sum(), X.sum(), 1e-4) and same(DX.max(), X.max()),
    "reduction of an axis": lambda: same(DM.sum(axis=0), M.sum(axis=0), 1e-4),
    "argmax": lambda: int(DX.argmax()) == int(X.argmax()),
    "cumsum": lambda: same(cp.cumsum(DX), np.cumsum(X), 1e-3),
    "matmul": lambda: same(DM @ DQ, M @ Q, 1e-4),
    "sort": lambda: same(cp.sort(DX), np.sort(X)),
    "argsort": lambda: same(cp.argsort(DX), np.argsort(X)),
    "boolean index": lambda: same(DX[DX > 0.5], X[X > 0.5]),
    "integer index": lambda: same(DX[cp.arange(0, 1000, 7)], X[::7]),
    "bincount": lambda: same(cp.bincount(cp.asarray([1, 1, 3])), np.bincount([1, 1, 3])),
    "fft": lambda: same(cp.fft.fft(DX), np.fft.fft(X), 1e-2),
    "uniform numbers": lambda: abs(float(cp.random.rand(10000).mean()) - 0.5) < 0.02,
    "normal numbers": lambda: abs(float(cp.random.standard_normal(10000).std()) - 1) < 0.05,
    "solve": lambda: same(
        cp.linalg.solve(cp.asarray(M[:24]), cp.asarray(X[:24])), np.linalg.solve(M[:24], X[:24]), 1e-2
    ),
    "svd": lambda: same(cp.linalg.svd(DM, compute_uv=False), np.linalg.svd(M, compute_uv=False), 1e-3),
    "where": lambda: same(cp.where(DX > 0.5, DX, 0), np.where(X > 0.5, X, 0)),
    "complex": lambda: same(cp.abs(DX + 1j * DX), np.abs(X + 1j * X)),
    "RawKernel by hiprtc": lambda: raw_kernel("nvrtc"),
    "RawKernel by hipcc": lambda: raw_kernel("nvcc"),
    "ElementwiseKernel": lambda: same(cp.ElementwiseKernel("T a, T b", "T c", "c = a * b + 1", "k")(DX, DX), X * X + 1),
    "stream": own_stream,
}


def main() -> int:
    """Runs the steps, prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--match", default="", help="only steps whose name matches this regular expression")
    args = parser.parse_args()
    failed = 0
    for name, step in STEPS.items():
        if not re.search(args.match, name):
            continue
        began = time.monotonic()
        try:
            outcome = "agrees" if step() else "differs"
        except Exception as error:
            outcome = f"{type(error).__name__}: {str(error)[:200]}"
        failed += outcome != "agrees"
        print(f"{name}: {outcome} ({time.monotonic() - began:.1f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
