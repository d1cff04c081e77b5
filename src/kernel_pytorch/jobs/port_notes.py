"""What a port itself does not do, and which command or line does it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from kernel_pytorch.jobs.added_files import GUARD
from kernel_pytorch.jobs.port import PortResult
from kernel_pytorch.port.deps.discover import find_files
from kernel_pytorch.port.discover import SUBMODULE
from kernel_pytorch.port.line_limit import line_limit, long_lines


def port_notes(result: PortResult) -> Iterator[str]:
    """One line for each thing that is still to be done by hand or by another verb."""
    root = Path(result.root)
    guard = next((patch.path for patch in result.patches if PurePosixPath(patch.path).name == GUARD), None)
    if guard is not None:
        module = ".".join(part for part in PurePosixPath(guard).with_suffix("").parts if part != "src")
        yield (
            f"{guard} does nothing by itself: call install() of {module} before the library that compiles is imported"
        )
    limit = line_limit(root)
    long = long_lines(result.patches, limit[0]) if limit is not None else []
    if limit is not None and long:
        shown = ", ".join(long[:4]) + (" ..." if len(long) > 4 else "")
        yield (
            f"longer than the {limit[0]} characters of this project's {limit[1]}: {shown}; "
            "run its formatter, the proof holds afterwards"
        )
    own = [one.path for one in result.skipped if one.reason == SUBMODULE and _has_kernels(root / one.path)]
    if own:
        shown = ", ".join(own[:3]) + (" ..." if len(own) > 3 else "")
        yield f"not ported: {shown}: submodules are repositories of their own; port each: `kpt port {root / own[0]}`"
    found, _ = find_files(root)
    if found:
        names = ", ".join(sorted({item.path.name for item in found})[:3])
        yield f"dependencies ({names}) are not changed: `kpt deps {root} --write` makes requirements-rocm.txt"


def _has_kernels(folder: Path) -> bool:
    return any(next(folder.rglob(pattern), None) is not None for pattern in ("*.cu", "*.cuh"))
