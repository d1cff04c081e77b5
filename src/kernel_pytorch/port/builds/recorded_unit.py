"""A source as the project's own build compiles it: its options, as seen from the copy in which that was recorded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_pytorch.toolchain.compile import CompileOptions

_NEWER = re.compile(r"(?:c|gnu)\+\+2\w")


@dataclass(frozen=True)
class RecordedUnit:
    """One source. Paths in `options` that lie below `tree` mean the project."""

    path: str
    tree: Path
    options: CompileOptions

    def moved(self, root: Path, otherwise: Path) -> CompileOptions:
        """The options for a copy at `root`. A folder that the copy lacks is looked for in `otherwise`."""
        folders = tuple(self._moved(one, root, otherwise) for one in self.options.include_dirs)
        extra = tuple(word.replace(str(self.tree), str(root)) for word in self.options.extra)
        return replace(self.options, include_dirs=folders, extra=extra)

    def _moved(self, folder: Path, root: Path, otherwise: Path) -> Path:
        if not folder.is_relative_to(self.tree):
            return folder
        inside = folder.relative_to(self.tree)
        return root / inside if (root / inside).is_dir() else otherwise / inside


def plain_unit(
    path: str, tree: Path, defines: Sequence[str], folders: Iterable[Path], included: Sequence[str] = (), std: str = ""
) -> RecordedUnit:
    """A source outside torch's build: the macros, folders and headers that the project gives it.

    Folders of the project only: our compiler brings what takes the place of CUDA's. An older standard than our
    compiler's own is left out: ROCm's headers need that one.
    """
    inside = tuple(dict.fromkeys(one for one in folders if one.is_dir() and one.is_relative_to(tree)))
    extra = tuple(word for header in included for word in ("-include", header))
    options = CompileOptions(defines=tuple(defines), include_dirs=inside, extra=extra)
    return RecordedUnit(path, tree, replace(options, std=std) if _NEWER.fullmatch(std) else options)
