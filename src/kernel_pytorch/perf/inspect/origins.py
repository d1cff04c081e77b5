"""From a generated kernel back to the user's lines and operators."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kernel_pytorch.perf.inspect.view import SourceLine

_FRAME = re.compile(r'File "([^"]+)", line (\d+)[^\n]*\n?\s*([^\n]*)')
_LIBRARY = re.compile(r"[/\\](site-packages|dist-packages)[/\\](torch|triton)[/\\]")


def user_line(frames: Iterable[tuple[str, int, str]]) -> SourceLine | None:
    """The innermost frame that is not torch's own."""
    own = [frame for frame in frames if not _LIBRARY.search(frame[0]) and not frame[0].startswith("<")]
    return SourceLine(own[-1][0], own[-1][1], own[-1][2].strip()) if own else None


def trace_line(stack_trace: str | None) -> SourceLine | None:
    """The user's line in a stack trace as torch.fx keeps it on a node."""
    frames = [(path, int(line), code) for path, line, code in _FRAME.findall(stack_trace or "")]
    return user_line(frames)


def kernel_origins(node_schedule: Iterable[object]) -> tuple[tuple[str, ...], tuple[SourceLine, ...]]:
    """(operators, user's lines) of the nodes that were fused into one kernel, each once, in order."""
    operators: dict[str, None] = {}
    lines: dict[SourceLine, None] = {}
    for entry in node_schedule:
        buffer = getattr(entry, "node", None)
        if buffer is None or not hasattr(buffer, "get_origins"):
            continue  # a marker between loops
        for origin in buffer.get_origins():
            operator = origin.meta.get("original_aten")
            if operator is not None:
                operators.setdefault(str(operator).removesuffix(".default"))
            line = trace_line(getattr(origin, "stack_trace", None) or origin.meta.get("stack_trace"))
            if line is not None:
                lines.setdefault(line)
    return tuple(operators), tuple(sorted(lines, key=lambda one: (one.path, one.line)))
