#!/usr/bin/env python3
"""Public Triton operators, compiled for AMD GPUs and run as machine code on the CPU, against plain torch.

    python benchmarks/triton_emulate.py --liger DIR --fla DIR --mamba DIR --flash-attention DIR [--gpu mi300x,rx7900xtx]
        [--match NAME] [--json FILE]

The directories are checkouts of linkedin/Liger-Kernel, fla-org/flash-linear-attention (needs einops),
state-spaces/mamba (einops) and Dao-AILab/flash-attention; what is not given is left out, our own kernels always run.
The operators' own wrappers are called on CPU tensors inside `emulated_triton`, so that launches, specialisation and
backward passes are the library's. Every operator runs in a process of its own. Prints a Markdown table; ends with 1
where a result differs or an operator fails.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

LIBRARIES = {
    "liger": "linkedin/Liger-Kernel",
    "fla": "fla-org/flash-linear-attention",
    "mamba": "state-spaces/mamba",
    "flash-attention": "Dao-AILab/flash-attention",
    "own": "kernel_pytorch.models.kernels",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in LIBRARIES:
        if name != "own":
            parser.add_argument(f"--{name}", type=Path, metavar="DIR")
    parser.add_argument("--gpu", default="mi300x,rx7900xtx")
    parser.add_argument("--match", default="", help="only operators whose name contains this")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--timeout", type=float, default=900.0, metavar="SECONDS", help="for one operator")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    given = vars(arguments)
    folders = {name: given[name.replace("-", "_")] for name in LIBRARIES if given.get(name.replace("-", "_"))}
    if arguments.one is not None:
        print(json.dumps(run_one(arguments.one, arguments.gpu, folders)))
        return 0
    from triton_emulate_cases import all_cases

    rows = []
    for gpu in arguments.gpu.split(","):
        for number, case in enumerate(all_cases()):
            wanted = case.library == "own" or case.library in folders
            if wanted and arguments.match in f"{case.library} {case.name}":
                rows.append(in_a_process(number, gpu, folders, arguments.timeout))
                print(line(rows[-1]), file=sys.stderr, flush=True)
                if arguments.json:
                    arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    print("| operator | library | GPU (wave) | kernels, launches | largest error | allowed | |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print(line(row))
    good = sum(row["verdict"] == "equal" for row in rows)
    print(f"\n{good} of {len(rows)} equal within tolerance.")
    return 0 if good == len(rows) else 1


def line(row: dict[str, Any]) -> str:
    launched = f"{row['kernels']}, {row['launches']}"
    error, allowed = (f"{row[name]:.1e}" if row[name] is not None else "-" for name in ("error", "allowed"))
    place = f"{row['gpu']} ({row['wave']})"
    return f"| {row['name']} | {row['library']} | {place} | {launched} | {error} | {allowed} | {row['verdict']} |"


def in_a_process(number: int, gpu: str, folders: dict[str, Path], timeout: float) -> dict[str, Any]:
    from triton_emulate_cases import all_cases

    from kernel_pytorch.core.gpu_to_emulate import gpu_to_emulate

    case = all_cases()[number]
    words = [word for name, folder in folders.items() for word in (f"--{name}", str(folder))]
    command = [sys.executable, str(Path(__file__).resolve()), "--one", str(number), "--gpu", gpu, *words]
    failed = {
        "name": case.name,
        "library": case.library,
        "gpu": gpu,
        "wave": gpu_to_emulate(gpu).target.wave_size,
        "kernels": 0,
        "launches": 0,
        "error": None,
        "allowed": None,
    }
    started = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return {**failed, "verdict": f"no end within {timeout:.0f} s"}
    if done.returncode != 0:
        said = [text for text in done.stderr.strip().splitlines() if text.strip()]
        return {**failed, "verdict": f"failed: {said[-1] if said else done.returncode}"}
    return {**failed, **json.loads(done.stdout.splitlines()[-1]), "seconds": round(time.monotonic() - started, 1)}


def run_one(number: int, gpu: str, folders: dict[str, Path]) -> dict[str, Any]:
    """One operator in this process."""
    warnings.simplefilter("ignore")
    import torch
    from triton_emulate_cases import all_cases, prepare

    from kernel_pytorch.emulate.triton_session import emulated_triton

    case = all_cases()[number]
    torch.manual_seed(0)
    with emulated_triton(gpu) as session:
        prepare(folders)  # inside: libraries ask for the GPU when they are imported
        pairs = case.run()
    worst, allowed = 0.0, 0.0
    bad = []
    for name, got, wanted in pairs:
        assert got.shape == wanted.shape, f"{name}: shape {tuple(got.shape)}, wanted {tuple(wanted.shape)}"
        scale = max(float(wanted.detach().abs().max()), 1.0)
        error = float((got.detach().double() - wanted.detach().double()).abs().max()) / scale
        if not error <= case.tolerance:  # true for NaN as well
            bad.append(f"{name} {error:.1e}")
        if not error <= worst:
            worst = error
    allowed = case.tolerance
    return {
        "kernels": len({launch.kernel for launch in session.launches}),
        "launches": len(session.launches),
        "error": worst,
        "allowed": allowed,
        "verdict": "equal" if session.launches and not bad else f"differs: {', '.join(bad) or 'nothing was launched'}",
    }


if __name__ == "__main__":
    sys.exit(main())
