"""A CUDA source ported into a scratch folder, ready to be compiled, with the way back to the user's lines."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.builds.user_lines import with_user_lines
from kernel_pytorch.port.cxx.reached_files import ReachedFiles, reached_files
from kernel_pytorch.port.hipify.file import HipifyOptions
from kernel_pytorch.port.hipify.tree import Task, hipify_task
from kernel_pytorch.toolchain.diagnostics import CompilerMessage


@dataclass(frozen=True)
class HipifiedTree:
    """The ported main file, and for every file written where it came from and which line became which.

    `folders` are those of the copies that includes count on and nobody has named.
    """

    top: Path
    main: Path
    original: Path
    origins: dict[Path, Path]
    lines: dict[Path, dict[int, int]]
    findings: tuple[Finding, ...]
    folders: tuple[Path, ...] = ()

    def on_original(self, message: CompilerMessage) -> CompilerMessage:
        """A compiler's message on the user's own file and line. Most name it already: the copies hold #line."""
        if message.path is None:
            return message
        written = Path(os.path.realpath(message.path))
        origin = self.origins.get(written)
        if origin is None:
            return message
        return replace(message, path=str(origin), line=self.lines[written].get(message.line, message.line))


@contextmanager
def hipified_tree(
    path: Path,
    include_dirs: tuple[Path, ...] = (),
    rules: tuple[str, ...] | None = None,
    project: Path | None = None,
) -> Iterator[HipifiedTree]:
    """Ports a .cu file with the project headers it reaches; gone when the block ends. `rules`: None for all.

    `project` is the folder that headers are taken from, besides `include_dirs`; None: the one the file belongs to.
    """
    reached = reached_files(path, include_dirs, project)
    root = reached.root
    members = tuple(at.relative_to(root).as_posix() for at in reached.files)
    with tempfile.TemporaryDirectory(prefix="kpt-hipified-") as scratch:
        top = Path(os.path.realpath(scratch))
        origins: dict[Path, Path] = {}
        lines: dict[Path, dict[int, int]] = {}
        findings = [
            Finding("KP001", str(_as_given(one.includer, path)), one.line, 1, str(one), Safety.MANUAL)
            for one in reached.outside
        ]
        for result in hipify_task(Task(root, members, members, include_dirs), HipifyOptions(rules=rules)):
            shown = _as_given(root / result.path, path)
            written = top / result.path
            # A file that is included under its old name keeps it: the scratch tree is never looked at by a person.
            written.parent.mkdir(parents=True, exist_ok=True)
            origins[written] = shown
            lines[written] = line_map(result.before, result.after)
            text = with_user_lines(result.after, lines[written], shown)
            written.write_bytes(text)
            findings += [replace(finding, path=str(shown)) for finding in result.findings]
            if written.suffix == ".cu":
                twin = written.with_suffix(".hip")
                twin.write_bytes(text)
                origins[twin], lines[twin] = origins[written], lines[written]
        _lay_ways(reached, top)
        main = top / reached.main.relative_to(root)
        folders = tuple(top / folder.relative_to(root) for folder in reached.looked_in)
        yield HipifiedTree(top, main, path, origins, lines, tuple(findings), folders)


def _lay_ways(reached: ReachedFiles, top: Path) -> None:
    """The folders and links by which the files include each other, and a way to the code of others, as it is."""
    for folder in reached.folders:
        (top / folder.relative_to(reached.root)).mkdir(parents=True, exist_ok=True)
    led = {at: top / to.relative_to(reached.root) for at, to in reached.links.items()}
    for at, to in {**led, **{folder: folder for folder in reached.foreign}}.items():
        place = top / at.relative_to(reached.root)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(to)


def hipified_folders(tree: HipifiedTree, folders: Sequence[Path]) -> tuple[Path, ...]:
    """Folders of headers for a ported source: the ported ones first, else the CUDA originals would be found."""
    main = tree.original.parent.resolve() / tree.original.name
    common = Path(os.path.commonpath([main.parent, *(folder.resolve() for folder in folders)]))
    top = tree.main.parents[len(main.relative_to(common).parts) - 1]
    own = [top / folder.resolve().relative_to(common) for folder in folders]
    return (*(folder for folder in own if folder.is_dir()), *folders, *tree.folders)


def _as_given(at: Path, main: Path) -> Path:
    """The path as the user would write it: beside the main file as that was named."""
    if at == main.resolve():
        return main
    beside = os.path.relpath(at, main.parent.resolve())
    return Path(beside) if main.parent == Path() else main.parent / beside


@lru_cache(maxsize=32)
def line_map(before: bytes, after: bytes) -> dict[int, int]:
    """New line number to old. A rewritten line maps to the line it came from, an added one to the next old line."""
    old, new = before.splitlines(), after.splitlines()
    mapped: dict[int, int] = {}
    for tag, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for offset in range(new_end - new_start):
            source = start + offset if tag in ("equal", "replace") else start
            mapped[new_start + offset + 1] = min(source, max(end - 1, start)) + 1
    return mapped


def column_before(before: bytes, old_line: int, after: bytes, new_line: int, column: int) -> int:
    """The column of a place before its line was rewritten: names get longer or shorter."""
    old, new = _line(before, old_line), _line(after, new_line)
    if old == new or column < 1:
        return column
    for tag, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if new_start <= column - 1 < new_end:
            return start + 1 + (column - 1 - new_start if tag == "equal" else 0)
        if column - 1 < new_start:
            return end + 1
    return len(old) + 1


def _line(data: bytes, number: int) -> bytes:
    lines = data.splitlines()
    return lines[number - 1] if 0 < number <= len(lines) else b""
