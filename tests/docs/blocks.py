"""The code blocks of the documentation, and the marks that say how they are run.

Every ```console, ```bash and ```python block is run, in the order of the page, in a temporary folder per page with a
copy of the samples. Marks are HTML comments on the lines before a block (after it, for a file):

    <!-- skip: needs an AMD GPU -->       not run, for this reason; its commands still have to parse
    <!-- slow -->                         run by `make test-slow` only
    <!-- exit: 1 -->                      the status of the block's last `kpt` command (0 otherwise); or one for each
                                          command: `exit: any 1 0`, where `any` is 0 or 1
    <!-- setup: import torch; x = 1 -->   Python to run before a Python block, a shell line before the others
    <!-- with: PATH = examples/x -->      what stands for a word that the reader replaces
    <!-- file: model.py -->               the block is also written to this file
    <!-- given: a.hip = tests/b.hip -->   this file of the repository is there under that name

Shown output is compared loosely: each line has to appear, in order, spaces aside; `...` stands for anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUN = ("console", "bash", "sh", "python")
_FENCE = re.compile(r"^```([\w-]*)[^\n]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_MARK = re.compile(r"<!--\s*(skip|slow|exit|setup|with|file|given)(?::\s*(.*?))?\s*-->")


@dataclass(frozen=True)
class Block:
    """A block with its marks."""

    page: str
    line: int
    language: str
    text: str
    skip: str = ""
    slow: bool = False
    exit: str = "0"
    setup: str = ""
    file: str = ""
    given: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    """One command of a console block and the output shown below it."""

    text: str
    shown: tuple[str, ...]


def pages() -> list[Path]:
    """All pages that people write; those of codes have no blocks, and are generated."""
    docs = [path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "rules"]
    return [ROOT / "README.md", *sorted(docs)]


def blocks(page: Path, text: str | None = None) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text(encoding="utf-8") if text is None else text
    name = page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.name
    found = []
    previous = 0
    for match in _FENCE.finditer(text):
        marks = dict(_MARK.findall(_last_paragraph(text[previous : match.start()])))
        after = re.match(r"\n(<!--.*?-->)", text[match.end() :])
        if after:
            marks |= {key: value for key, value in _MARK.findall(after[1]) if key in ("file", "setup")}
        if "skip" in marks and len(marks["skip"]) < 8:
            raise AssertionError(f"{name}: a block is skipped without a reason")
        found.append(
            Block(
                name,
                text.count("\n", 0, match.start()) + 1,
                match[1],
                _replaced(match[2], marks.get("with", "")),
                marks.get("skip", ""),
                "slow" in marks,
                marks.get("exit", "0"),
                marks.get("setup", ""),
                marks.get("file", ""),
                marks.get("given", ""),
            )
        )
        previous = match.end()
    return found


def _replaced(text: str, mark: str) -> str:
    """The block as it is run: a word that readers replace is replaced."""
    word, _, value = mark.partition(" = ")
    return re.sub(rf"\b{re.escape(word)}\b", value, text) if word else text


def _last_paragraph(text: str) -> str:
    """The marks directly above a block: lines that are comments, without an empty line between."""
    kept: list[str] = []
    for line in reversed(text.rstrip("\n").split("\n")):
        if not line.startswith("<!--"):
            break
        kept.append(line)
    return "\n".join(kept)


def commands(block: Block) -> list[Command]:
    """The commands of a console block: lines after `$ `, each with the lines up to the next."""
    found: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
        elif line.strip():
            raise AssertionError(f"{block}: output before the first command (lines with `$ `)")
    return [Command(text, tuple(shown)) for text, shown in found]


def statuses(block: Block, listed: list[Command]) -> list[tuple[int, ...]]:
    """The exit statuses that each command may have."""
    allowed = [(0, 1) if word == "any" else (int(word),) for word in block.exit.split()]
    if len(allowed) > 1:
        assert len(allowed) == len(listed), f"{block}: {len(allowed)} statuses for {len(listed)} commands"
        return allowed
    ours = [index for index, command in enumerate(listed) if command.text.startswith("kpt ")]
    return [allowed[0] if ours and index == ours[-1] else (0,) for index in range(len(listed))]


def first_missing(shown: tuple[str, ...], output: str) -> str | None:
    """The first shown line that the output does not have after the ones before it."""
    lines = [" ".join(line.split()) for line in output.splitlines()]
    at = 0
    for line in shown:
        wanted = " ".join(line.split())
        if wanted in ("", "..."):
            continue
        pattern = re.compile(".*".join(re.escape(part.strip()) for part in wanted.split("...")) + r"\s*$")
        while at < len(lines) and not pattern.match(lines[at]):
            at += 1
        if at == len(lines):
            return line
        at += 1
    return None
