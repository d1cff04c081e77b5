"""Macros that a project's build gives to the compiler: a source that lacks one was not built as it is meant to be.

Where the build description ran, its flags are known. Where it could not run here (`load(..., [f"-DN={size}"])` in a
training script), a name that only such a flag defines says nothing about the port.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.port.cxx.compiled_on_rocm import is_own_switch
from kernel_pytorch.port.cxx.directives import conditionals
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.tokens import words

_FIRST = re.compile(
    r"^(?P<path>\S+?):\d+:\d+: error: (?:use of undeclared identifier|unknown type name|no (?:member|type) named) "
    r"'(?P<name>\w+)'"
)
_GIVEN = re.compile(rb"-D\s*([A-Za-z_]\w*)")
# CMake's other form, `target_compile_definitions(lib PRIVATE N=4)`: names without -D, behind a target and a keyword.
_DEFINITIONS = re.compile(rb"\b(?:(target)|add)_compile_definitions\s*\(([^()]*)")
_DEFINITION = re.compile(rb"(?<![\w${<:.-])[A-Za-z_]\w*(?==|\s|$)")
_KEYWORDS = frozenset((b"PUBLIC", b"PRIVATE", b"INTERFACE"))
_GLUED = 4  # a name that ends with a macro of so many letters is one that the preprocessor glued to it
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
            for name, at in _definitions(data):
                line = data.count(b"\n", 0, at) + 1
                found.setdefault(name.decode(), f"{path}:{line}")
        return found

    @property
    def switches(self) -> tuple[str, ...]:
        """The macros that the project's own build for AMD defines: its sources count on them there."""
        return tuple(sorted(name for name in self.places if name == "USE_HIP" or is_own_switch(name.encode())))

    def wanted_for(self, name: str, path: str) -> str | None:
        """The macro that a file lacks where it has no `name`: that name, or the one that a branch with it asks for."""
        if name in self.places:
            return name
        for macro in self.places:
            if len(macro) >= _GLUED and name.endswith(f"_{macro}"):
                return macro
        src = cxx_file(path, read_if_there(self.root / path, self.root) or b"")
        for conditional in conditionals(src):
            asked = {src.text(token).decode() for branch in conditional.branches for token in branch.directive.tokens}
            given = sorted(asked & self.places.keys())
            spans = [branch.body for branch in conditional.branches]
            places = (src.code[at].start for at in words(src).get(name.encode()))
            if given and any(span.start <= place < span.end for place in places for span in spans):
                return given[0]
        return None


def _definitions(data: bytes) -> Iterator[tuple[bytes, int]]:
    """The macros that a build file names, with their places, in order."""
    found = [(flag[1], flag.start()) for flag in _GIVEN.finditer(data)]
    for command in _DEFINITIONS.finditer(data):
        names = [(word[0], command.start(2) + word.start()) for word in _DEFINITION.finditer(command[2])]
        found += [one for one in names[1 if command[1] else 0 :] if one[0] not in _KEYWORDS]
    return iter(sorted(found, key=lambda one: one[1]))


def unless_a_macro_is_missing(check: CheckResult, macros: GivenMacros) -> CheckResult:
    """A failed build that begins with the lack of such a macro was not a build of the project."""
    first = _FIRST.match(check.detail) if check.status is Status.FAIL else None
    macro = macros.wanted_for(first["name"], first["path"]) if first is not None else None
    if macro is None:
        return check
    place = macros.places[macro]
    detail = f"needs the macro {macro}, which {place} gives when it builds: kpt could not run that build here"
    return replace(check, status=Status.NOT_RUN, detail=detail)
