"""Reads what the recorder wrote while a program ran: one JSON object a line, the last one perhaps cut off."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.json_lines import read_json_lines
from kernel_pytorch.toolchain.demangle import demangle
from kernel_pytorch.verify.kernels.record import BufferState, LaunchRecord, PointerArgument


def read_launches(raw: Path) -> tuple[tuple[LaunchRecord, ...], int, str]:
    """The launches in order, how many there were in all, and the device's name. Raises UsageError."""
    files = sorted(raw.glob("launches-*.jsonl"))
    busy = [file for file in files if any(event.get("event") == "launch" for event in read_json_lines(file))]
    if len(busy) > 1:
        raise UsageError(f"{len(busy)} processes launched kernels: a record is of one process; run them one by one")
    launches: dict[int, LaunchRecord] = {}
    buffers: dict[int, str] = {}
    in_all, device = 0, ""
    pointers: dict[int, list[dict[str, int]]] = {}
    for event in read_json_lines(busy[0]) if busy else ():
        kind = event.get("event")
        if kind == "device":
            device = str(event["name"])
        elif kind == "launch":
            launches[event["number"]] = _launch(event)
            pointers[event["number"]] = event["arguments"]
        elif kind == "done":
            states = []
            for row in event["buffers"]:
                buffers[row["buffer"]] = _buffer_name(row)
                states.append(_state(row))
            number = event["number"]
            launches[number] = replace(
                launches[number], buffers=tuple(states), error=int(event["error"]), finished=True
            )
        elif kind == "end":
            in_all = int(event["launches"])
    done = tuple(
        replace(launch, arguments=tuple(_pointer(row, buffers) for row in pointers[number]))
        for number, launch in sorted(launches.items())
    )
    return done, max(in_all, len(done)), device


def _launch(event: dict[str, Any]) -> LaunchRecord:
    return LaunchRecord(
        number=event["number"],
        symbol=event["symbol"] or "(unknown)",
        grid=tuple(event["grid"]),
        block=tuple(event["block"]),
        shared_bytes=event["shared_bytes"],
        captured=event["captured"],
        arguments=(),
    )


def _pointer(row: dict[str, int], buffers: dict[int, str]) -> PointerArgument:
    # A buffer that never got a name was not read: the program died in this launch.
    name = buffers.get(row["buffer"], "?")
    return PointerArgument(row["argument"], row["offset"], name, row["at"])


def _buffer_name(row: dict[str, Any]) -> str:
    if row["symbol"]:
        return demangle(row["symbol"])
    return f"host #{row['number']}" if row["on_host"] else f"#{row['number']}"


def _state(row: dict[str, Any]) -> BufferState:
    return BufferState(
        buffer=_buffer_name(row),
        bytes=row["bytes"],
        kept=row["kept"],
        base=int(row["base"], 16),
        before=row["before"],
        after=row["after"],
        has_before=row["has_before"],
        has_after=row["has_after"],
    )
