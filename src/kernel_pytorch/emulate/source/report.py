"""What a source-level run reported, with machine addresses turned into the user's lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernel_pytorch.core.read_file import read_text
from kernel_pytorch.emulate.events import Events, read_events
from kernel_pytorch.emulate.source.build import SourceProgram
from kernel_pytorch.emulate.source.debug_lines import Line, lines_of


def source_events(report: Path, program: SourceProgram) -> Events:
    """The events of a run; a fault's `instruction` is the text of its source line."""
    if not report.is_file():
        return Events()
    events = [event for event in map(_object, report.read_text(errors="replace").splitlines()) if event is not None]
    faults = [event for event in events if event.get("event") == "fault"]
    offsets = {value for fault in faults for value in _offsets(fault)}
    lines = lines_of(program.executable, offsets, program.user_files)
    for fault in faults:
        _resolve(fault, lines, program.user_files)
    resolved = report.with_suffix(".resolved.jsonl")
    resolved.write_text("".join(json.dumps(event) + "\n" for event in events))
    return read_events(resolved)


def _object(line: str) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None  # a line that a killed program left half written
    return event if isinstance(event, dict) else None


def _offsets(fault: Mapping[str, Any]) -> list[int]:
    found = [int(fault[name]) for name in ("pc", "other_pc") if name in fault]
    return [*found, *(int(offset) for offset in fault.get("calls", ()))]


def _resolve(fault: dict[str, Any], lines: Mapping[int, Line], user_files: frozenset[str]) -> None:
    if "pc" in fault:
        path, line = _place(int(fault["pc"]), fault.get("calls", ()), lines, user_files)
        fault["file"], fault["line"] = path, line
    other = (str(fault.get("other_file", "")), int(fault.get("other_line", 0)))
    if "other_pc" in fault:
        other = _place(int(fault["other_pc"]), (), lines, user_files)
    named = f"{other[0]}:{other[1]}" if other[0] else "an unknown place"
    fault["detail"] = str(fault.get("detail", "")).replace("{other}", named)
    if "thread" in fault:
        x, y, z = fault["thread"]
        fault["detail"] = f"thread ({x},{y},{z}): {fault['detail']}"
    if fault.get("file"):
        fault["instruction"] = _text(str(fault["file"]), int(fault.get("line", 0)))


def _place(offset: int, calls: Any, lines: Mapping[int, Line], user_files: frozenset[str]) -> tuple[str, int]:
    """The innermost place in the user's files: the access itself, where library code was put, or who called it."""
    here = lines.get(offset)
    if here is not None and here.path in user_files:
        return here.path, here.line
    if here is not None and here.inlined_at is not None:
        return here.inlined_at
    for call in calls:
        at = lines.get(int(call))
        if at is not None and at.path in user_files:
            return at.path, at.line
    return (here.path, here.line) if here is not None else ("", 0)


def _text(path: str, line: int) -> str:
    try:
        rows = read_text(Path(path), errors="replace").splitlines()
    except OSError:
        return ""
    return rows[line - 1].strip() if 0 < line <= len(rows) else ""
