"""Read pip requirements files: includes, options, hashes, continuations, any encoding pip takes."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator
from pathlib import Path

from kernel_pytorch.core.inside import is_inside
from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.port.deps.model import Declared, DependencyFileError, IndexOption, NotRead, Reading
from kernel_pytorch.port.deps.requirement_text import parse, strip_comment

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)")
_INCLUDE = re.compile(r"^(?:-r|--requirement)(?:\s+|=)?\s*(\S.*)$")
_CONSTRAINT = re.compile(r"^(?:-c|--constraint)(?:\s+|=)?\s*(\S.*)$")
_EDITABLE = re.compile(r"^(?:-e|--editable)(?:\s+|=)\s*(\S.*)$")
_OPTION = re.compile(
    r"^(?:--(?P<long>index-url|extra-index-url|find-links|trusted-host|pre|prefer-binary|no-binary|only-binary|"
    r"no-index|require-hashes|use-feature|no-deps|no-build-isolation|upgrade)|-(?P<short>i|f))"
    r"(?:(?:\s+|=)\s*(?P<value>\S.*))?$"
)
_MAIN = "the main list"
_SHORT = {"i": "index-url", "f": "find-links"}


def read_text(path: Path, shown: str) -> str:
    """A text file as pip decodes it; raises DependencyFileError for binary content."""
    data = read_bytes(path)
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError as error:
                raise DependencyFileError(shown, 1, f"its byte order mark does not hold: {error}") from error
    if b"\0" in data:
        raise DependencyFileError(shown, 1, "binary content; a text file is needed here")
    for first in data.split(b"\n", 2)[:2]:
        declared = _CODING.match(first)
        if declared:
            try:
                return data.decode(declared[1].decode())
            except (LookupError, UnicodeDecodeError) as error:
                raise DependencyFileError(shown, 1, f"its coding line does not hold: {error}") from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        # Old files in a Western code page are common and pip reads them with the locale's encoding.
        return data.decode("latin-1")


def named_file(name: str, path: Path, root: Path) -> Path | str:
    """The file that the file at `path` names; a text says why it is not read. Nothing outside the root is."""
    base = root if root.is_dir() else root.parent
    try:
        other = (path.parent / name.strip().strip("\"'")).resolve()
        if not is_inside(other, base):
            return f"outside {base}, so not read: {name.strip()}"
        return other if other.is_file() else f"dependency file does not exist: {name.strip()}"
    except (OSError, RuntimeError, ValueError):  # a loop of links, a name too long, a NUL in it
        return f"not the name of a file: {name.strip()!r}"


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """(first line number, text) with backslash continuations joined and comments removed."""
    start, parts = 0, []
    for number, raw in enumerate(text.splitlines(), 1):
        start = start or number
        # A comment line inside a continuation ends nothing in pip: it is dropped before joining.
        if raw.rstrip().endswith("\\") and not raw.lstrip().startswith("#"):
            parts.append(raw.rstrip()[:-1])
            continue
        if parts and raw.lstrip().startswith("#"):
            continue
        parts.append(raw)
        line = strip_comment(" ".join(parts))
        if line:
            yield start, line
        start, parts = 0, []
    if parts and (line := strip_comment(" ".join(parts))):
        yield start, line


def read_requirements(
    path: Path,
    root: Path,
    *,
    group: str = "",
    role: str = "runtime",
    known: dict[Path, str] | None = None,
    seen: frozenset[Path] = frozenset(),
) -> Reading:
    """Read one file and what it includes.

    `known` maps files that are read in their own right to their group: one of those is not flattened into
    this file a second time (see `_included`).
    """
    shown = _shown(path, root)
    declared: list[Declared] = []
    options: list[IndexOption] = []
    not_read: list[NotRead] = []
    includes_main: list[str] = []
    for number, line in logical_lines(read_text(path, shown)):
        if include := _INCLUDE.match(line) or _CONSTRAINT.match(line):
            as_constraint = _CONSTRAINT.match(line) is not None
            inner = _included(path, include[1], root, group, "constraint" if as_constraint else role, known, seen)
            if inner == _MAIN:
                includes_main.append(group)
            elif isinstance(inner, str):
                not_read.append(NotRead(shown, number, inner))
            elif inner:
                declared += inner.declared
                options += inner.options
                not_read += inner.not_read
                includes_main += inner.includes_main
            continue
        if option := _OPTION.match(line):
            kind = option["long"] or _SHORT[option["short"]]
            options.append(IndexOption(kind, (option["value"] or "").strip(), shown, number, group))
            continue
        editable = _EDITABLE.match(line)
        if line.startswith("-") and not editable:
            not_read.append(NotRead(shown, number, f"option not known to pip's requirements format: {line}"))
            continue
        try:
            declared.append(
                parse(editable[1] if editable else line, shown, number, group=group, role=role,
                      editable=editable is not None)
            )  # fmt: skip
        except ValueError as error:
            not_read.append(NotRead(shown, number, str(error)))
    return Reading(
        shown, "requirements", tuple(declared), tuple(options), not_read=tuple(not_read),
        includes_main=tuple(includes_main),
    )  # fmt: skip


def _included(
    path: Path,
    target: str,
    root: Path,
    group: str,
    role: str,
    known: dict[Path, str] | None,
    seen: frozenset[Path],
) -> Reading | str | None:
    """The included file's reading; _MAIN if the main list already covers it; None if nothing to add."""
    if "://" in target:
        return f"an include from the network is not fetched: {target}"
    other = named_file(target, path, root)
    if isinstance(other, str):
        return other
    if other in seen or other == path.resolve():
        return f"included in a circle: {target}"
    if role != "constraint" and known is not None and other in known:
        if known[other] == group:
            return None
        if known[other] == "":
            return _MAIN
    return read_requirements(other, root, group=group, role=role, known=known, seen=seen | {path.resolve()})


def _shown(path: Path, root: Path) -> str:
    base = root if root.is_dir() else root.parent
    return Path(os.path.relpath(path.resolve(), base.resolve())).as_posix()
