"""What a layout is given, what it gives back, and the facts about it that others ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernel_pytorch.core.findings import Edit
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.edits import EditSet
from kernel_pytorch.port.names.rename import IsLocal, Naming


@dataclass(frozen=True)
class Draft:
    """One file before it is laid out: what became of its names, and the edits of its rules.

    `shims_beside`: what HIP lacks comes from a header beside the file instead of its top.
    """

    src: CxxFile
    unit: Unit
    naming: Naming
    edits: EditSet
    is_local: IsLocal
    shims_beside: bool = False

    def rename(self, group: Sequence[Edit]) -> None:
        """Takes a name's edits: the name, and what its call needs around an argument.

        A rule that rewrote the argument leaves the name to us.
        """
        if not self.edits.add(group):
            self.edits.add(group[:1])


@dataclass(frozen=True)
class LaidOut:
    """The file as it is written, and the places of edits that no gate can stand around."""

    data: bytes
    dropped: tuple[int, ...] = ()


@dataclass(frozen=True)
class Layout:
    """A way to lay out ported C++.

    `writes_twins`: the result has HIP's names and stands in files of its own; the original is untouched.
    `has_one_header`: a header of ours gives CUDA's names to every file.
    `is_built_by_torch`: torch's own build renames most names.
    `renames`: which of CUDA's names the layout renames itself.
    """

    name: str
    lay_out: Callable[[Draft], LaidOut]
    writes_twins: bool = False
    has_one_header: bool = False
    is_built_by_torch: bool = False
    renames: Callable[[str], bool] = lambda name: False

    def written_name(self, path: str) -> str:
        """The name a file is written under: a .cu has a .hip as its twin, everything else keeps its name."""
        return f"{path.removesuffix('.cu')}.hip" if self.writes_twins and path.endswith(".cu") else path
