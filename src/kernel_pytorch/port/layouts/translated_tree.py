"""A CUDA source translated into a scratch folder, ready to be compiled, with the way back to the user's lines."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_pytorch.core.findings import Finding
from kernel_pytorch.port.cxx.unit import Unit, include_closure
from kernel_pytorch.port.hipify.file import TranslateOptions, translate
from kernel_pytorch.port.hipify.tree import local_to
from kernel_pytorch.port.source import source_file
from kernel_pytorch.toolchain.diagnostics import CompilerMessage


@dataclass(frozen=True)
class TranslatedTree:
    """The translated main file, and for every file written where it came from and which line became which."""

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
def translated_tree(
    path: Path, include_dirs: tuple[Path, ...] = (), rules: tuple[str, ...] | None = None
) -> Iterator[TranslatedTree]:
    """Translates a .cu file with the project headers it reaches; gone when the block ends. `rules`: None for all."""
    root = Path(os.path.commonpath([path.resolve().parent, *(folder.resolve() for folder in include_dirs)]))
    closure = include_closure(path, root, include_dirs)
    names = {at: at.relative_to(root).as_posix() for at in closure}
    unit = Unit(tuple(source_file(names[at], data) for at, data in closure.items()))
    folders = [*include_dirs, root, root / "include", root / "src"]
    with tempfile.TemporaryDirectory(prefix="kpt-translated-") as scratch:
        top = Path(os.path.realpath(scratch))
        origins: dict[Path, Path] = {}
        lines: dict[Path, dict[int, int]] = {}
        findings: list[Finding] = []
        shown = {at: _as_given(at, path) for at in closure}
        for (at, _), src in zip(closure.items(), unit.files, strict=True):
            result = translate(src, unit, TranslateOptions(rules=rules), local_to(at, folders))
            written = top / names[at]
            # A file that is included under its old name keeps it: the scratch tree is never looked at by a person.
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_bytes(result.after)
            origins[written] = shown[at]
            lines[written] = line_map(result.before, result.after)
            findings += [replace(finding, path=str(shown[at])) for finding in result.findings]
            if written.suffix == ".cu":
                twin = written.with_suffix(".hip")
                twin.write_bytes(result.after)
                origins[twin], lines[twin] = origins[written], lines[written]
        yield TranslatedTree(top, top / names[path.resolve()], path, origins, lines, tuple(findings))


def translated_folders(tree: TranslatedTree, folders: Sequence[Path]) -> tuple[Path, ...]:
    """Folders of headers for a translated source: the translated ones first, else the CUDA originals would be found."""
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


def line_map(before: bytes, after: bytes) -> dict[int, int]:
    """New line number to old. A rewritten line maps to the line it came from, an added one to the next old line."""
    old, new = before.splitlines(), after.splitlines()
    mapped: dict[int, int] = {}
    for tag, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for offset in range(new_end - new_start):
            source = start + offset if tag in ("equal", "replace") else start
            mapped[new_start + offset + 1] = min(source, max(end - 1, start)) + 1
    return mapped
