"""Lines that name what an AMD site has under another name: looked for by pattern, reported only."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety

Patterns = tuple[tuple[str, str], ...]


def named_lines(code: str, path: str, text: str, patterns: Patterns) -> Iterator[Finding]:
    """A finding for each line that a pattern is found in; `{0}` in the message is the pattern's first group."""
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, message in patterns:
            match = re.search(pattern, line)
            if match:
                yield Finding(code, path, number, match.start() + 1, message.format(*match.groups()), Safety.MANUAL)
