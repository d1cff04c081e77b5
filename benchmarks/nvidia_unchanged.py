#!/usr/bin/env python3
"""A repository and its port, run on an NVIDIA GPU with random weights: are the results the same bit for bit?

    kpt port nanoGPT --out nanoGPT.port
    python benchmarks/nvidia_unchanged.py nanogpt nanoGPT nanoGPT.port

Each program (`nvidia_unchanged/NAME.py`) runs the repository's own files in a process of its own: the original, the
original once more, the port. The second run of the original is the control: a program whose own runs differ decides
nothing and is reported so. Seeds are fixed and algorithms deterministic. The three share the caches of Inductor and
Triton, so that choices made by timing are made once; a port that changed a graph or a setting would miss the cache
and choose again. Exit status 0: all equal; 1: a difference, or a control that differs; 2: a run that failed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).with_suffix("")


@dataclass(frozen=True)
class Run:
    """What one process said: a digest for every result, and how long it took."""

    digests: dict[str, str]
    seconds: float


def main() -> int:
    """Runs one program on both trees and says what is equal."""
    names = sorted(path.stem for path in PROGRAMS.glob("*.py"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", choices=names)
    parser.add_argument("original", type=Path)
    parser.add_argument("port", type=Path)
    parser.add_argument("--device", default="cuda", help="cpu is for trying the programs themselves")
    parser.add_argument("--python-path", action="append", default=[], metavar="DIR", help="packages a program needs")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child is not None:
        return _child(args)
    with tempfile.TemporaryDirectory() as work:
        runs: list[Run] = []
        for number, tree in enumerate((args.original, args.original, args.port)):
            done = _run(args, tree, Path(work), Path(work) / f"{number}.json")
            if done is None:
                return 2
            runs.append(done)
    return _compare(args.program, *runs)


def _run(args: argparse.Namespace, tree: Path, work: Path, answer: Path) -> Run | None:
    environment = {
        **os.environ,
        "TORCHINDUCTOR_CACHE_DIR": str(work / "inductor"),
        "TRITON_CACHE_DIR": str(work / "triton"),
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "PYTHONPATH": os.pathsep.join(str(Path(folder).resolve()) for folder in args.python_path),
        "PYTHONHASHSEED": "0",
    }
    command = [sys.executable, __file__, args.program, str(args.original), str(args.port), "--device", args.device]
    start = time.perf_counter()
    done = subprocess.run(
        [*command, "--child", str(answer)],
        env={**environment, "KPT_TREE": str(tree.resolve())},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not answer.is_file():
        print(f"{args.program}: {tree} failed\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}", file=sys.stderr)
        return None
    return Run(json.loads(answer.read_text()), time.perf_counter() - start)


def _child(args: argparse.Namespace) -> int:
    import hashlib
    import importlib.util

    import torch

    tree = Path(os.environ["KPT_TREE"])
    os.chdir(tree)
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True, warn_only=True)
    path = PROGRAMS / f"{args.program}.py"
    spec = importlib.util.spec_from_file_location(f"program_{args.program}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    results: dict[str, object] = module.run(tree, args.device)
    digests = {}
    for name, value in results.items():
        if isinstance(value, torch.Tensor):
            flat = value.detach().cpu().contiguous().reshape(-1)
            raw = flat.view(torch.uint8).numpy().tobytes()
            kind = f"{tuple(value.shape)} {value.dtype}"
            finite = bool(torch.isfinite(flat).all()) if flat.is_floating_point() else True
            digests[name] = f"{hashlib.sha256(raw).hexdigest()} {kind}{'' if finite else ' NOT FINITE'}"
        else:
            digests[name] = repr(value)
    args.child.write_text(json.dumps(digests))
    return 0


def _compare(program: str, first: Run, control: Run, port: Run) -> int:
    unstable = [name for name in first.digests if first.digests[name] != control.digests.get(name)]
    changed = [
        name
        for name in sorted({*first.digests, *port.digests})
        if first.digests.get(name) != port.digests.get(name) and name not in unstable
    ]
    took = " ".join(f"{run.seconds:.0f}" for run in (first, control, port))
    equal = len(first.digests) - len(unstable) - len(changed)
    print(f"{program}: {equal} of {len(first.digests)} results bitwise equal in the port ({took} s)")
    width = max(map(len, first.digests)) + 2
    for name, digest in first.digests.items():
        state = "UNDECIDED: the original differs from itself" if name in unstable else "equal"
        print(f"  {name:<{width}}{'CHANGED' if name in changed else state}  {digest[:12]}{digest[64:100]}")
    return 1 if unstable or changed else 0


if __name__ == "__main__":
    sys.exit(main())
