"""What the last build of each source showed, for rounds that the time for builds does not reach any more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernel_pytorch.core.findings import Patch
from kernel_pytorch.port.builds.ported_project import OUT_OF_TIME, TriedUnit
from kernel_pytorch.port.cxx.include_folders import compile_folders
from kernel_pytorch.port.cxx.includes import include_closure
from kernel_pytorch.port.discover import Project

REPAIRED_SINCE = "a repair changed what it is made of, and the time for builds was over (--build-limit)"


@dataclass
class LastBuilds:
    """Results by target and source. One holds until a repair changes the source or a header that it reaches."""

    project: Project
    _results: dict[tuple[str, str], TriedUnit] = field(default_factory=dict)
    _stale: set[tuple[str, str]] = field(default_factory=set)
    _reached: dict[str, frozenset[str]] = field(default_factory=dict)
    _folders: tuple[Path, ...] | None = None

    def noted(self, target: str, unit: TriedUnit) -> TriedUnit:
        """The unit as it came out; one that got no time as it came out last, if that still holds."""
        key = (target, unit.path)
        if unit.check.detail != OUT_OF_TIME:
            self._results[key] = unit
            self._stale.discard(key)
            return unit
        if key in self._stale:
            return replace(unit, check=replace(unit.check, detail=REPAIRED_SINCE))
        return self._results.get(key, unit)

    def repaired(self, before: Iterable[Patch], after: Iterable[Patch]) -> None:
        """Takes note of what a round of repairs has changed."""
        known = {patch.path: patch.after for patch in before}
        changed = {patch.path for patch in after if known.get(patch.path) != patch.after}
        self._stale |= {key for key in self._results if changed & self._files_of(key[1])}

    def _files_of(self, path: str) -> frozenset[str]:
        if path not in self._reached:
            root = self.project.root.resolve()
            if self._folders is None:
                self._folders = compile_folders(root, [root / one for one in self.project.of("cuda", "c++")])
            reached = include_closure(root / path, root, self._folders)
            self._reached[path] = frozenset({path, *(one.relative_to(root).as_posix() for one in reached)})
        return self._reached[path]
