"""Records what the compiler says about each repair's `in.cu`, and what the repairs make of it.

    python -m tests.port.repairs.record [kp284_cached_load ...]

This needs a HIP compiler and torch. `complaints.json` is what the fast tests read; `out.cu` is what they expect.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.findings import Patch, Status, from_json, to_plain
from kernel_pytorch.jobs.repair import RepairRequest, build_and_repair, complaints_of
from kernel_pytorch.port.builds.ported_project import try_ported
from kernel_pytorch.port.discover import discover
from kernel_pytorch.port.repairs.complaint import Complaint
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.toolchain.precompiled import PrecompiledHeaders

FOLDER = Path(__file__).parent
LAYOUT = "torch-extension"


@dataclass(frozen=True)
class Recorded:
    """What was said in one round after the other."""

    rounds: tuple[Complaint, ...]


def folders() -> list[Path]:
    """The fixture folders."""
    return sorted(path.parent for path in FOLDER.glob("kp*/in.cu"))


def read_complaints(folder: Path) -> tuple[Complaint, ...]:
    """What the compiler said about `in.cu` when it was recorded."""
    return from_json(Recorded, (folder / "complaints.json").read_text()).rounds


def first_complaints(folder: Path) -> tuple[Complaint, ...]:
    """What the compiler says about `in.cu` now."""
    with tempfile.TemporaryDirectory() as scratch:
        root = _project(folder, Path(scratch))
        store = PrecompiledHeaders(Path(scratch) / "headers")
        units = try_ported(discover(root), (), find_toolchain(), "gfx942", layout=LAYOUT, every=True, store=store)
        return complaints_of(units)


def repaired(folder: Path) -> tuple[bytes, bool]:
    """`in.cu` after all rounds, and whether it builds."""
    with tempfile.TemporaryDirectory() as scratch:
        root = _project(folder, Path(scratch))
        request = RepairRequest(discover(root), LAYOUT, ("gfx942",))
        done = build_and_repair(request, (), find_toolchain())
        data = (folder / "in.cu").read_bytes()
        after = next((patch.after for patch in done.patches if patch.path == "in.cu"), data)
        return after, all(check.status is Status.PASS for check in done.checks) and bool(done.checks)


def patch_of(patches: tuple[Patch, ...]) -> bytes:
    """The one file's text."""
    return next(patch.after for patch in patches if patch.path == "in.cu")


def _project(folder: Path, scratch: Path) -> Path:
    root = scratch / "project"
    root.mkdir()
    (root / "in.cu").write_bytes((folder / "in.cu").read_bytes())
    return root


def main(names: list[str]) -> None:
    """Write the files."""
    for folder in folders():
        if names and folder.name not in names:
            continue
        said = first_complaints(folder)
        (folder / "complaints.json").write_text(json.dumps(to_plain(Recorded(said)), indent=1) + "\n")
        text, builds = repaired(folder)
        (folder / "out.cu").write_bytes(text)
        print(folder.name, "builds" if builds else "DOES NOT BUILD", [one.text for one in said])


if __name__ == "__main__":
    main(sys.argv[1:])
