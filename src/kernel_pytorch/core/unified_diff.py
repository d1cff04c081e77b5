"""A patch as a unified diff."""

from __future__ import annotations

import difflib
import re

from kernel_pytorch.core.findings import Patch


def unified_diff(patch: Patch) -> str:
    """The text that patch(1) and `git apply` take. Bytes that are not UTF-8 are shown as the replacement character."""
    old, new = _lines(patch.before or b""), _lines(patch.after)
    before = "/dev/null" if patch.before is None else f"a/{patch.path}"
    lines = list(difflib.unified_diff(old, new, before, f"b/{patch.path}"))
    text = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _lines(data: bytes) -> list[str]:
    """Lines as patch(1) counts them. str.splitlines would also end one at a form feed, which old C files have."""
    return re.findall(r"[^\n]*\n|[^\n]+", data.decode("utf-8", "surrogateescape"))
