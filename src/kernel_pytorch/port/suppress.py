"""`# kpt: ignore[KP601] reason` in a source line silences that code on that line. The reason is required."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kernel_pytorch.core.findings import Finding, Safety

_MARK = re.compile(rb"(?:#|//|/\*)\s*kpt:\s*ignore\[([A-Za-z0-9, ]+)\][ \t]*([^\r\n*]*)")


def apply_suppressions(data: bytes, path: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings that are not silenced, and one for every mark that gives no reason."""
    if b"kpt:" not in data:
        yield from findings
        return
    silenced: dict[int, set[str]] = {}
    for number, line in enumerate(data.splitlines(), 1):
        match = _MARK.search(line)
        if match is None:
            continue
        if match.group(2).strip():
            silenced[number] = {code.strip().upper() for code in match.group(1).decode().split(",")}
        else:
            message = "`kpt: ignore` without a reason silences nothing: say why behind the bracket"
            yield Finding("KP004", path, number, match.start() + 1, message, Safety.MANUAL)
    yield from (finding for finding in findings if finding.code not in silenced.get(finding.line, ()))
