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

from kernel_pytorch.core.findings import Finding
from kernel_pytorch.port.cxx.includes import include_closure
from kernel_pytorch.port.hipify.file import HipifyOptions
from kernel_pytorch.port.hipify.tree import Task, hipify_task
from kernel_pytorch.toolchain.diagnostics import CompilerMessage


@dataclass(frozen=True)
class HipifiedTree:
    """The ported main file, and for every file written where it came from and which line became which."""

    top: Path
    main: Path
    original: Path
    origins: dict[Path, Path]
    lines: dict[Path, dict[int, int]]
    findings: tuple[Finding, ...]

    def on_original(self, message: CompilerMessage) -> CompilerMessage:
        """A compiler's message on the user's own file and line."""
        if message.path is None:
            return message
        written = Path(os.path.realpath(message.path))
        origin = self.origins.get(written)
        if origin is None:
            return message
        return replace(message, path=str(origin), line=self.lines[written].get(message.line, message.line))


@contextmanager
def hipified_tree(
    path: Path, include_dirs: tuple[Path, ...] = (), rules: tuple[str, ...] | None = None
) -> Iterator[HipifiedTree]:
    """Ports a .cu file with the project headers it reaches; gone when the block ends. `rules`: None for all."""
    root = Path(os.path.commonpath([path.resolve().parent, *(folder.resolve() for folder in include_dirs)]))
    members = tuple(at.relative_to(root).as_posix() for at in include_closure(path, root, include_dirs))
    with tempfile.TemporaryDirectory(prefix="kpt-hipified-") as scratch:
        top = Path(os.path.realpath(scratch))
        origins: dict[Path, Path] = {}
        lines: dict[Path, dict[int, int]] = {}
        findings: list[Finding] = []
        for result in hipify_task(Task(root, members, members, include_dirs), HipifyOptions(rules=rules)):
            shown = _as_given(root / result.path, path)
            written = top / result.path
            # A file that is included under its old name keeps it: the scratch tree is never looked at by a person.
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_bytes(result.after)
            origins[written] = shown
            lines[written] = line_map(result.before, result.after)
            findings += [replace(finding, path=str(shown)) for finding in result.findings]
            if written.suffix == ".cu":
                twin = written.with_suffix(".hip")
                twin.write_bytes(result.after)
                origins[twin], lines[twin] = origins[written], lines[written]
        main = top / path.resolve().relative_to(root)
        yield HipifiedTree(top, main, path, origins, lines, tuple(findings))


def hipified_folders(tree: HipifiedTree, folders: Sequence[Path]) -> tuple[Path, ...]:
    """Folders of headers for a ported source: the ported ones first, else the CUDA originals would be found."""
    main = tree.original.resolve()
    common = Path(os.path.commonpath([main.parent, *(folder.resolve() for folder in folders)]))
    top = tree.main.parents[len(main.relative_to(common).parts) - 1]
    own = [top / folder.resolve().relative_to(common) for folder in folders]
    return (*(folder for folder in own if folder.is_dir()), *folders)


def _as_given(at: Path, main: Path) -> Path:
    """The path as the user would write it: beside the main file as that was named."""
    return (
        Path(os.path.relpath(at, main.resolve().parent))
        if main.parent == Path()
        else main.parent / os.path.relpath(at, main.resolve().parent)
    )


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
