"""A launch's error asked for after another call

What: A kernel launch, then a runtime call whose result is dropped, then cudaGetLastError or cudaPeekAtLastError.
Why: Before ROCm 7.0 hipGetLastError gave the status of the call before it, so the successful call in between hides the
    failed launch. CUDA, and HIP from 7.0, keep the last real error.
Fix: Ask for the error right after the launch, or check the result of the call in between.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.calls import calls
from kernel_pytorch.port.cxx.tokens import closing, text_at
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP250",
    "last-error",
    languages=("cuda",),
    safety=Safety.MANUAL,
    triggers=(b"cudaGetLastError", b"cudaPeekAtLastError"),
)


def check(src: CxxFile) -> Iterator[Finding]:
    """Each question that comes one call too late."""
    for call in calls(src, b"cudaGetLastError", b"cudaPeekAtLastError"):
        between = _statement_before(src, _statement_start(src, call.index))
        if between is None:
            continue
        first = text_at(src, between)
        # An unchecked call: the statement starts with its name. A synchronisation reports the launch's own failure.
        if not first.startswith(b"cuda") or text_at(src, between + 1) != b"(" or b"Synchronize" in first:
            continue
        close = closing(src, between + 1)
        if close is None or text_at(src, close + 1) != b";":
            continue
        launch = _statement_before(src, between)
        if launch is None or not _has_launch(src, launch, between):
            continue
        name = first.decode("utf-8", "replace")
        asked = f"{call.name.decode('utf-8', 'replace')} checks a launch, but {name} was called in between"
        message = f"{asked}: before ROCm 7.0 its success hides the error"
        yield RULE.finding(src, call.span, message)


_STATEMENT_TOKENS = 100


def _statement_start(src: CxxFile, index: int) -> int:
    first = max(0, index - _STATEMENT_TOKENS)
    while index > first and text_at(src, index - 1) not in (b";", b"{", b"}"):
        index -= 1
    return index


def _statement_before(src: CxxFile, start: int) -> int | None:
    """Start of the statement before the one at `start`, if both stand in one block."""
    if start < 2 or text_at(src, start - 1) != b";":
        return None
    return _statement_start(src, start - 1)


def _has_launch(src: CxxFile, start: int, end: int) -> bool:
    return any(text_at(src, index) == b"<<<" for index in range(start, end))
