"""What `from kernel_pytorch.backends.amd import ...` adds to `import torch`.

    python benchmarks/backend_import.py [--runs 15]

Every run is a fresh interpreter that clocks both imports itself, in wall and in processor time; our modules are
compiled beforehand, as pip leaves them. The limit is 300 ms of processor time; exit 1 beyond it.
"""

from __future__ import annotations

import argparse
import compileall
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT_MS = 300.0
SCRIPT = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
clocks = lambda: (time.perf_counter(), time.process_time())
marks = [clocks()]
import torch
marks.append(clocks())
from kernel_pytorch.backends.amd import AMDBackend, AMDMemoryManager, HIPUtilities, ROCmCompiler
marks.append(clocks())
AMDBackend()
marks.append(clocks())
print(json.dumps([[1e3 * (b[i] - a[i]) for i in (0, 1)] for a, b in zip(marks, marks[1:])]))
"""
NAMES = ("import torch", "kernel_pytorch.backends.amd", "AMDBackend()")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    samples = []
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(Path(__file__).parents[1] / "src" / "kernel_pytorch", Path(folder) / "kernel_pytorch")
        compileall.compile_dir(folder, quiet=2)
        for _ in range(runs + 1):
            words = [sys.executable, "-c", SCRIPT, folder]
            answer = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            samples.append(json.loads(answer.stdout))
    processor = []
    for place, name in enumerate(NAMES):
        wall, cpu = (statistics.median(run[place][clock] for run in samples[1:]) for clock in (0, 1))
        processor.append(cpu)
        print(f"{name:<30}{wall:8.0f} ms wall {cpu:8.0f} ms processor  {cpu / processor[0]:6.3f}x import torch")
    return 0 if processor[1] < LIMIT_MS else 1


if __name__ == "__main__":
    sys.exit(main())
