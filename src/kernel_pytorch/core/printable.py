"""Text of a stranger's on a terminal or in a log: characters that command either are shown, not sent.

An escape sequence in a file's name can move the cursor, hide lines or write the clipboard; a newline in it can forge a
line of a log; a direction mark can make source read otherwise than it compiles.
"""

from __future__ import annotations

import re

# C0 without tab and newline, DEL, C1, line separators, direction marks, and bytes that were no UTF-8.
_COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def printable(text: str) -> str:
    """The text with everything but tabs and newlines that commands a terminal written out: \\x1b, \\u202e."""
    return _COMMANDS.sub(_written_out, text)


def on_one_line(text: str) -> str:
    """The same for what stands within a line: tabs and newlines are written out as well."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def has_controls(name: str) -> bool:
    """Whether a file's name holds characters that no project gives to a source file."""
    return _CONTROLS.search(name) is not None


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a name that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
