"""#line directives that give a ported copy of a file the name and the line numbers of the file the user wrote.

With them the compiler's messages, `__FILE__`, `__LINE__`, a failed `assert` and the lines in the machine code name the
user's file, and not the copy in a scratch folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernel_pytorch.port.cxx.lexer import tokenize

_BOM = b"\xef\xbb\xbf"


def with_user_lines(text: bytes, old_line: Mapping[int, int], shown: Path) -> bytes:
    """The text with #line wherever its lines and those of the user's file part; `old_line` maps new to old."""
    free = _free_lines(text)
    mark, body = (_BOM, text[len(_BOM) :]) if text.startswith(_BOM) else (b"", text)
    name = str(shown).replace("\\", "\\\\").replace('"', '\\"').encode("utf-8", "surrogateescape")
    out = [mark, b'#line 1 "', name, b'"\n']
    expected = 1
    for number, line in enumerate(body.splitlines(keepends=True), 1):
        wanted = old_line.get(number, expected)
        if wanted != expected and number in free:
            out.append(b"#line %d\n" % wanted)
            expected = wanted
        out.append(line)
        expected += 1
    return b"".join(out)


def _free_lines(text: bytes) -> set[int]:
    """Lines that a directive may stand before: not in a comment, a literal, parentheses or a continued line."""
    taken: set[int] = set()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
        if line.rstrip(b"\r\n").endswith(b"\\"):
            taken.add(len(starts))
    number, depth = 1, 0
    for token in tokenize(text):
        while number < len(starts) and starts[number] <= token.start:
            number += 1
            if depth > 0:
                taken.add(number)
        inside = number
        while inside < len(starts) and starts[inside] < token.end:
            inside += 1
            taken.add(inside)
        if token.kind == "punct" and token.end == token.start + 1:
            character = text[token.start : token.end]
            depth += (character in (b"(", b"[")) - (character in (b")", b"]"))
            depth = max(depth, 0)
        elif token.kind == "directive":
            depth = 0
    return set(range(1, len(starts))) - taken
