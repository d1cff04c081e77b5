"""How long `kpt --help` takes, against an empty Python and against `import torch` where torch is installed.

    python benchmarks/start_up.py [--runs 15]

Prints medians and their ratios to the empty interpreter of the same run: the machine's noise is in both.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "kpt --help": ["-m", "kernel_pytorch", "--help"],
    "import kernel_pytorch": ["-c", "import kernel_pytorch"],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    commands = dict(COMMANDS)
    if importlib.util.find_spec("torch"):
        commands["import torch"] = ["-c", "import torch"]
    samples: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs):  # interleaved, so that a slow minute hits all alike
        for name, arguments in commands.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            samples[name].append(time.perf_counter() - start)
    base = statistics.median(samples["python -c pass"])
    for name, seconds in samples.items():
        median = statistics.median(seconds)
        print(f"{name:<24}{median * 1e3:8.0f} ms  {median / base:6.1f}x an empty interpreter")
    return 0


if __name__ == "__main__":
    sys.exit(main())
