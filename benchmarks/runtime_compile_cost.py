#!/usr/bin/env python3
"""What a kernel costs that a program compiles while it runs: CPU seconds of hiprtc and of the translation, for each.

    python -m venv venv && venv/bin/pip install cupy-rocm-7-0==14.2
    python benchmarks/runtime_compile_cost.py venv/bin/python [--kernels 10]

CuPy compiles RawKernels that differ in a constant, with no cache of its own. The CPU time of all that was started
for one kernel is taken off the time for all, so that what is done once does not count.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = """
import os, sys
if sys.argv[3] == "none":
    os.environ.pop("KPT_EMULATE_SERVER", None)
import cupy
x = cupy.zeros(100, "f")
for number in range(int(sys.argv[1])):
    body = "x[threadIdx.x] = x[threadIdx.x] * %d.5f + %s;" % (number, sys.argv[2])
    source = 'extern "C" __global__ void k(float *x) { ' + body + " }"
    cupy.RawKernel(source, "k", backend="nvrtc")((1,), (100,), (x,))
cupy.cuda.Device().synchronize()
"""


def cpu_seconds(python: Path, kernels: int, words: list[str], server: str) -> float:
    """Of a run that compiles this many kernels, with all its children."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program.py"
        script.write_text(PROGRAM)
        salt = str(time.time_ns())  # a constant of its own: nothing is found in a cache
        emulate = [sys.executable, "-m", "kernel_pytorch", "emulate", "--gpu", "mi300x", *words, "--"]
        environment = {**os.environ, "CUPY_CACHE_DIR": folder}
        before = os.times()
        command = [*emulate, str(python.absolute()), str(script), str(kernels), salt, server]
        subprocess.run(command, env=environment, check=True, stderr=subprocess.DEVNULL)
        after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", type=Path, help="the Python that has CuPy's wheel")
    parser.add_argument("--kernels", type=int, default=10)
    args = parser.parse_args()
    cpu_seconds(args.python, 3, [], "with")  # libraries and precompiled headers are made once
    cpu_seconds(args.python, 3, ["--quick"], "with")
    print("| | CPU seconds for a kernel |\n|---|---|")
    cases = (("a process for each step", [], "none"), ("one server", [], "with"), ("`--quick`", ["--quick"], "with"))
    for name, words, server in cases:
        one, all_of_them = (cpu_seconds(args.python, count, words, server) for count in (1, args.kernels))
        print(f"| {name} | {(all_of_them - one) / (args.kernels - 1):.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
