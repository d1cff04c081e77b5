"""Kills `kpt port --write` with SIGKILL at random moments, edits files as a person would, and lets it finish.

    python benchmarks/kill_port.py --kills 200

Each round takes a fresh project, kills one to three ports of it, and edits files between the kills. Then a port runs to
its end. What must hold:

- after every kill each file is whole: as it was, or as the port makes it, with the edits that were made by then;
- at the end the project is what a port that nobody disturbed makes of it with the same edits: no edit is lost;
- nothing is left behind: no staged file in the project, no journal.

Exit 1, and the folder is kept, where one of these does not hold.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from kernel_pytorch.cli.main import main as kpt
from kernel_pytorch.core.whole_file import SUFFIX

PYTHON = "import torch\n\n\ndef step{n}(model):\n    return torch.compile(model, mode='reduce-overhead')\n"
CUDA = """#include <cuda_runtime.h>
__global__ void k{n}(float *x) {{ x[threadIdx.x] = __shfl_xor_sync(0xffffffff, x[threadIdx.x], 1); }}
void run{n}(float *x) {{ k{n}<<<1, 32>>>(x); cudaDeviceSynchronize(); }}
"""


@dataclass
class Tally:
    """What the kills hit."""

    kills: int = 0
    too_late: int = 0
    while_writing: int = 0
    edits: int = 0
    rounds: int = 0
    faults: list[str] = field(default_factory=list)


def make_project(root: Path, files: int) -> None:
    """A project of Python modules and CUDA sources, all of which a port changes."""
    (root / "package").mkdir(parents=True)
    (root / "csrc").mkdir()
    (root / "package/__init__.py").write_text("")
    for n in range(files // 2):
        (root / f"package/m{n}.py").write_text(PYTHON.format(n=n))
        (root / f"csrc/k{n}.cu").write_text(CUDA.format(n=n))


def start_port(root: Path) -> int:
    """A real process that ports the project; forked, so that a thousand of them need not import everything again."""
    child = os.fork()
    if child:
        return child
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    status = 70
    with contextlib.suppress(BaseException):
        status = kpt(["port", str(root), "--write", "--no-build", "-j", "1"])
    os._exit(status)


def contents(root: Path) -> dict[str, bytes]:
    """Every file of a project."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def kill_somewhere(root: Path, state: Path, whole_s: float, chance: random.Random) -> str:
    """Start a port and kill it: at any moment, or soon after its journal appears. "late", "early" or "writing"."""
    child = start_port(root)
    began = time.monotonic()
    if chance.random() < 0.3:
        time.sleep(chance.uniform(0, whole_s))
    else:
        while not list(state.rglob("*.json")) and time.monotonic() - began < 3 * whole_s:
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                break
        time.sleep(chance.uniform(0, 0.25 * whole_s) * chance.random())
    os.kill(child, signal.SIGKILL)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if ended != -signal.SIGKILL:
        return "late"
    return "writing" if list(state.rglob("*.json")) else "early"


def edit(root: Path, name: str, number: int) -> bytes:
    """What a person adds to a file; the text that must never be lost."""
    mark = f"{'#' if name.endswith('.py') else '//'} edited by hand {number}\n".encode()
    with (root / name).open("ab") as file:
        file.write(mark)
    return mark


def one_round(folder: Path, before: dict[str, bytes], after: dict[str, bytes], whole_s: float, tally: Tally,
              chance: random.Random) -> None:  # fmt: skip
    """Kills and edits, then a port to its end."""
    root, state = folder / "project", folder / "state"
    for path in (root, state):
        shutil.rmtree(path, ignore_errors=True)
    for name, data in before.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    edits: dict[str, bytes] = {}
    for _ in range(chance.randint(1, 3)):
        outcome = kill_somewhere(root, state, whole_s, chance)
        tally.kills += outcome != "late"
        tally.too_late += outcome == "late"
        tally.while_writing += outcome == "writing"
        for name, data in contents(root).items():
            mark = edits.get(name, b"")
            if not name.endswith(SUFFIX) and data not in (before.get(name, b"\0") + mark, after[name] + mark):
                tally.faults.append(f"{name} is torn after a kill")
        for name in chance.sample(sorted(before), chance.randint(0, 4)):
            tally.edits += 1
            edits[name] = edits.get(name, b"") + edit(root, name, tally.edits)
    ended = os.waitstatus_to_exitcode(os.waitpid(start_port(root), 0)[1])
    if ended not in (0, 1):
        tally.faults.append(f"the last port ended with status {ended}")
    found = contents(root)
    expected = {name: data + edits.get(name, b"") for name, data in after.items()}
    for name in sorted(found.keys() | expected.keys()):
        if found.get(name) != expected.get(name):
            tally.faults.append(f"{name}: not what an undisturbed port makes of it")
    if list(state.rglob("*.json")):
        tally.faults.append("a journal is left behind")
    tally.rounds += 1


def main() -> int:
    """Rounds until there were as many kills as asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, metavar="N")
    parser.add_argument("--files", type=int, default=40, metavar="N", help="files of the project (default 40)")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kpt-kill-port-"))
    os.environ["KPT_STATE_DIR"] = str(folder / "state")
    make_project(folder / "project", args.files)
    before = contents(folder / "project")
    # The first one imports everything that a port needs; the second, on a fresh copy, tells how long one takes.
    kpt(["scan", str(folder / "project"), "-j", "1", "--json", "--html", str(folder / "scan.html")])
    began = time.monotonic()
    os.waitpid(start_port(folder / "project"), 0)
    whole_s = time.monotonic() - began
    after = contents(folder / "project")
    chance, tally = random.Random(args.seed), Tally()
    while tally.kills < args.kills and not tally.faults:
        one_round(folder, before, after, whole_s, tally, chance)
    print(
        f"{tally.kills} kills ({tally.while_writing} while files were written, {tally.too_late} more came too late), "
        f"{tally.edits} edits, {tally.rounds} rounds of {len(before)} files: {len(tally.faults)} faults",
        file=sys.stderr,
    )
    for fault in tally.faults:
        print(f"  {fault}", file=sys.stderr)
    if tally.faults:
        print(f"kept: {folder}", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
