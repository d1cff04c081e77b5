"""Counts, for what users do most, the files of ours that a call goes through and the rooms it crosses.

    python scripts/journeys.py                   hipify, port, emulate and compile_kernel
    python scripts/journeys.py hipify optimize   these

A file counts where one of its functions ran; importing it does not count. A crossing is a pair of files in two rooms,
one of which called the other. Small figures are good: each crossing is a place to look at when something goes wrong.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import kernel_pytorch
from kernel_pytorch.cli.main import main as kpt

PACKAGE = Path(kernel_pytorch.__file__).parent
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
KERNEL = '#include <hip/hip_runtime.h>\nextern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }\n'
MODEL = "import torch\n\n\ndef make():\n    return torch.nn.Linear(8, 8).eval(), torch.zeros(2, 8)\n"


@dataclass
class Seen:
    """Pairs of a calling and a called file of ours. A file that nothing of ours called stands in both places."""

    calls: set[tuple[str, str]] = field(default_factory=set)

    def look(self, frame: FrameType, event: str, _: Any) -> None:
        """The profile function: called on every call of a Python function."""
        if event != "call":
            return
        here = own_file(frame)
        if here is None:
            return
        caller = frame.f_back
        while caller is not None and own_file(caller) is None:
            caller = caller.f_back
        there = own_file(caller) if caller is not None else None
        pair = (there or here, here)
        if pair not in self.calls and not is_importing(frame):
            self.calls.add(pair)

    @property
    def files(self) -> set[str]:
        return {called for _, called in self.calls}

    @property
    def crossings(self) -> set[tuple[str, str]]:
        return {(one, other) for one, other in self.calls if room(one) != room(other)}


def own_file(frame: FrameType) -> str | None:
    """The path of a function of ours below the package; None for others and for a module's own top level."""
    name = frame.f_code.co_filename
    if frame.f_code.co_name == "<module>" or not name.startswith(f"{PACKAGE}/"):
        return None
    return name[len(str(PACKAGE)) + 1 :]


def is_importing(frame: FrameType | None) -> bool:
    """Whether a module of ours is being imported: what its top level calls, class bodies included, is no journey."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>" and code.co_filename.startswith(f"{PACKAGE}/"):
            return True
        frame = frame.f_back
    return False


def room(file: str) -> str:
    """The room of a file; files above the rooms are one of their own."""
    return file.split("/")[0] if "/" in file else "(top)"


def hipify(scratch: Path) -> None:
    kpt(["hipify", str(EXAMPLES / "fused_norm/csrc/selfcheck.cu")])


def port(scratch: Path) -> None:
    project = shutil.copytree(EXAMPLES / "fused_norm", scratch / "project")
    kpt(["port", str(project), "--write", "-j", "1"])


def emulate(scratch: Path) -> None:
    kpt(["emulate", str(EXAMPLES / "fused_norm/csrc/selfcheck.cu")])


def compile_kernel(scratch: Path) -> None:
    from kernel_pytorch.backends.amd import ROCmCompiler
    from kernel_pytorch.core.config import AMDConfig

    # A kernel that no cache has: its text says which run this is.
    ROCmCompiler(AMDConfig()).compile_kernel(f"{KERNEL}// {scratch}\n", "twice")


def optimize(scratch: Path) -> None:
    (scratch / "model.py").write_text(MODEL)
    kpt(["optimize", f"{scratch}/model.py:make", "--out", str(scratch / "out"), "--budget", "30"])


JOURNEYS: dict[str, Callable[[Path], None]] = {
    "hipify": hipify,
    "port": port,
    "emulate": emulate,
    "compile_kernel": compile_kernel,
    "optimize": optimize,
}


def watched(journey: Callable[[Path], None]) -> Seen:
    """Runs a journey with every call seen, its threads' too. What it prints is dropped."""
    seen = Seen()
    quiet = io.TextIOWrapper(io.BytesIO())
    with (
        tempfile.TemporaryDirectory(prefix="kpt-journey-") as scratch,
        contextlib.redirect_stdout(quiet),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        threading.setprofile(seen.look)
        sys.setprofile(seen.look)
        try:
            journey(Path(scratch))
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
    return seen


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in JOURNEYS]
    if unknown:
        print(f"{unknown[0]}: not a journey; expected {', '.join(JOURNEYS)}", file=sys.stderr)
        return 2
    print(f"{'journey':<16}{'files':>7}{'rooms':>7}{'crossings':>11}  rooms, by files")
    for name in names or ["hipify", "port", "emulate", "compile_kernel"]:
        seen = watched(JOURNEYS[name])
        rooms = sorted({room(file) for file in seen.files})
        counts = ", ".join(f"{one} {sum(room(file) == one for file in seen.files)}" for one in rooms)
        print(f"{name:<16}{len(seen.files):>7}{len(rooms):>7}{len(seen.crossings):>11}  {counts}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
