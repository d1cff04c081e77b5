"""A source as the project's own build compiles it: its options, as seen from the copy in which that was recorded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from kernel_pytorch.toolchain.compile import CompileOptions


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
