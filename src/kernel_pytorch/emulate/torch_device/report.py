"""What torch did on the emulated GPU, for the report at the end of a run."""

from __future__ import annotations

import atexit
import json
import os

from kernel_pytorch.emulate.torch_device.native import Native


def operator_calls(native: Native) -> dict[str, int]:
    """Operator -> how often it was computed, on the CPU."""
    lines = (line.rsplit(" ", 1) for line in native.operator_calls().decode().splitlines())
    return {name: int(count) for name, count in lines}


def report_at_exit(native: Native) -> None:
    """Append the operators of this process to the run's report, where there is one."""
    atexit.register(_write, native)


def _write(native: Native) -> None:
    path = os.environ.get("KPT_EMULATE_REPORT")
    calls = operator_calls(native)
    if path and calls:
        line = json.dumps({"event": "torch", "operators": calls}) + "\n"
        # One write: lines of several processes do not mix.
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)
