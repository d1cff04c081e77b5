"""Macros that a project's build gives to the compiler: a source that lacks one was not built as it is meant to be.

Where the build description ran, its flags are known. Where it could not run here (`load(..., [f"-DN={size}"])` in a
training script), a name that only such a flag defines says nothing about the port.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.core.read_file import read_if_there

_FIRST = re.compile(r"^\S+?:\d+:\d+: error: (?:use of undeclared identifier|unknown type name) '(\w+)'")
_GIVEN = re.compile(rb"-D\s*([A-Za-z_]\w*)")
_BUILD_FILES = (".py", ".cmake", ".mk", ".sh", ".toml")
_BUILD_NAMES = frozenset({"CMakeLists.txt", "Makefile", "makefile", "GNUmakefile"})


@dataclass(frozen=True)
class GivenMacros:
    """The macros that a project's build files name in flags. The files are read when a build first fails for one."""

    root: Path
    listed: Iterable[str]

    @cached_property
    def places(self) -> dict[str, str]:
        """Each macro with the first place that names it."""
        found: dict[str, str] = {}
        for path in self.listed:
            if not path.endswith(_BUILD_FILES) and PurePosixPath(path).name not in _BUILD_NAMES:
                continue
            data = read_if_there(self.root / path, self.root) or b""
            for flag in _GIVEN.finditer(data):
                line = data.count(b"\n", 0, flag.start()) + 1
                found.setdefault(flag[1].decode(), f"{path}:{line}")
        return found


def unless_a_macro_is_missing(check: CheckResult, macros: GivenMacros) -> CheckResult:
    """A failed build that begins with the lack of such a macro was not a build of the project."""
    first = _FIRST.match(check.detail) if check.status is Status.FAIL else None
    place = macros.places.get(first[1]) if first is not None else None
    if first is None or place is None:
        return check
    detail = f"needs the macro {first[1]}, which {place} gives when it builds: kpt could not run that build here"
    return replace(check, status=Status.NOT_RUN, detail=detail)
