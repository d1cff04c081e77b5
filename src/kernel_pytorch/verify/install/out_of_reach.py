"""Headers of the project that a source includes and torch's hipify does not find: they keep CUDA's names on ROCm."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.port.cxx.compiled_on_rocm import compiled_text, is_compiled, is_within, left_out_on_cuda
from kernel_pytorch.port.cxx.includes import Include, include_closure, includes_of, is_third_party, resolve_include
from kernel_pytorch.port.cxx.source import CxxFile, cxx_file
from kernel_pytorch.port.names.compat_header import COMPAT_HEADER
from kernel_pytorch.verify.install.record import InstallTrial
from kernel_pytorch.verify.install.units import read_flags

_OF_CUDA = re.compile(rb"cuda|cu(?:blas|sparse|solver|fft|rand|dnn|b)\b|nvrtc|nccl", re.IGNORECASE)


@dataclass(frozen=True)
class OutOfReach:
    """An #include in a file of the project, the header it means, and the extension that it is compiled for.

    `is_left_behind`: it has no CUDA names, but its includer is written to another folder and no longer finds it.
    """

    extension: str
    path: str
    include: Include
    line: int
    header: str
    is_left_behind: bool = False

    @property
    def from_here(self) -> str:
        """The header's path as seen from the file that includes it."""
        return PurePosixPath(os.path.relpath(self.header, PurePosixPath(self.path).parent)).as_posix()

    @property
    def climbs(self) -> bool:
        """Whether the include leads out of the folder of its file."""
        return ".." in PurePosixPath(self.include.name).parts

    @property
    def folder(self) -> str | None:
        """The folder of the including file, where the include is relative to it."""
        folder = PurePosixPath(self.path).parent
        return folder.as_posix() if os.path.normpath(folder / self.include.name) == self.header else None

    def is_followed_in(self, trial: InstallTrial) -> bool:
        """Whether hipify would read the header if the include gave its path.

        It reads what lies below setup.py. A build at run time reads headers below `extra_include_paths` alone.
        """
        at_run_time = any(one.name == self.extension and one.kind == "load" for one in trial.rocm.extensions)
        if at_run_time or not trial.setup.endswith(".py") or self.from_here == self.include.name:
            return False
        return PurePosixPath(self.header).is_relative_to(PurePosixPath(trial.setup).parent)


def out_of_reach(trial: InstallTrial) -> tuple[OutOfReach, ...]:
    """Every include that leads from a file which hipify read to one which it did not, and should have."""
    reached = dict(trial.rocm.renamed)
    if not reached:
        return ()  # hipify did not run: nothing is renamed, and another finding says so
    tree = trial.tree.resolve()
    start = tree / PurePosixPath(trial.setup).parent

    def inside(name: str) -> tuple[Path, ...]:
        folder = Path(os.path.normpath(start / name))
        return (folder,) if folder.is_relative_to(tree) and folder.is_dir() else ()

    found: dict[tuple[str, int], OutOfReach] = {}
    for command in trial.rocm.compiles:
        source = trial.rocm.as_written(command.source)
        folders = read_flags(command.words, inside).include_dirs
        for one in _from(command.extension, source, tree, folders, reached):
            found.setdefault((one.path, one.include.start), one)
    return tuple(found.values())


def _from(
    extension: str, source: str, tree: Path, folders: Sequence[Path], reached: Mapping[str, str]
) -> Iterator[OutOfReach]:
    pending, seen = [source], set[str]()
    while pending:
        path = pending.pop()
        if path in seen or path not in reached:
            continue
        seen.add(path)
        data = read_if_there(tree / path, tree) or b""
        only_rocm = left_out_on_cuda(cxx_file(path, data))
        for include in includes_of(data):
            header = resolve_include(include, tree / path, folders)
            if header is None or not header.is_relative_to(tree) or is_within(include.start, only_rocm):
                continue
            name = header.relative_to(tree).as_posix()
            if name in reached:
                pending.append(name)
                continue
            found = OutOfReach(extension, path, include, data.count(b"\n", 0, include.start) + 1, name)
            if is_third_party(header.relative_to(tree)):
                continue
            if _is_of_cuda(header, tree, folders):
                yield found
            elif resolve_include(include, tree / reached[path], folders) is None:
                yield replace(found, is_left_behind=True)


def _is_of_cuda(header: Path, tree: Path, folders: Sequence[Path]) -> bool:
    """Whether CUDA's names are in what ROCm compiles of a header and of those it includes."""
    reached = include_closure(header, tree, folders)
    if any(COMPAT_HEADER.encode() in data for data in reached.values()):
        return False  # the port's own header gives these names HIP's meaning
    return any(_names_cuda(cxx_file(str(path), data)) for path, data in reached.items())


def _names_cuda(src: CxxFile) -> bool:
    included = (one.name.encode() for one in includes_of(src.data) if is_compiled(src, one.start))
    return any(map(_OF_CUDA.search, (compiled_text(src), *included)))
