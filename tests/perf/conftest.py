"""Small traces made by hand: what a test needs and nothing else."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


class TraceBuilder:
    """Writes torch-like traces. Times are microseconds; every operator launches one kernel unless told otherwise."""

    def __init__(self, folder: Path, vendor: str = "amd") -> None:
        self.folder = folder
        self.vendor = vendor
        self.events: list[dict[str, Any]] = []
        self.number = 0
        self.properties = [
            {
                "id": 0,
                "name": "AMD Instinct MI300X",
                "numSms": 304,
                "warpSize": 64,
                "computeMajor": 9,
                "computeMinor": 4,
            }
            if vendor == "amd"
            else {"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132, "computeMajor": 9, "computeMinor": 0}
        ]

    def span(self, category: str, name: str, start: float, length: float, **arguments: Any) -> None:
        self.events.append(
            {
                "ph": "X",
                "cat": category,
                "name": name,
                "pid": 1,
                "tid": 1,
                "ts": start,
                "dur": length,
                "args": arguments,
            }
        )

    def operator(
        self, name: str, start: float, length: float = 5.0, dims: Any = (), types: Any = (), **more: Any
    ) -> None:
        self.number += 1
        arguments = {"External id": self.number, "Input Dims": dims, "Input type": types}
        if "concrete" in more:
            arguments["Concrete Inputs"] = more["concrete"]
        if "strides" in more:
            arguments["Input Strides"] = more["strides"]
        self.span("cpu_op", name, start, length, **arguments)

    def kernel(self, name: str, start: float, length: float, *, launched: float | None = None, **more: Any) -> None:
        """A kernel, and the call that launched it at `launched` (None: launched before the recording)."""
        self.number += 1
        correlation = 1000 + self.number
        if launched is not None:
            call = more.pop("call", "hipLaunchKernel" if self.vendor == "amd" else "cudaLaunchKernel")
            self.span("cuda_runtime", call, launched, 2.0, correlation=correlation)
        category = more.pop("category", "kernel")
        arguments = {"device": 0, "stream": 0, "correlation": correlation, **more}
        self.span(category, name, start, length, **arguments)

    def launch(self, operator: str, kernel: str, host: float, start: float, length: float, **more: Any) -> None:
        """An operator at `host` whose kernel runs from `start`."""
        self.operator(operator, host, 10.0, **more)
        self.kernel(kernel, start, length, launched=host + 2)

    def document(self) -> dict[str, Any]:
        return {"schemaVersion": 1, "deviceProperties": self.properties, "traceEvents": self.events}

    def write(self, name: str = "trace.json", indent: int | None = 2) -> Path:
        path = self.folder / name
        text = json.dumps(self.document(), indent=indent)
        if name.endswith(".gz"):
            path.write_bytes(gzip.compress(text.encode()))
        else:
            path.write_text(text, encoding="utf-8")
        return path


@pytest.fixture
def builder(tmp_path: Path) -> Callable[..., TraceBuilder]:
    def make(vendor: str = "amd") -> TraceBuilder:
        return TraceBuilder(tmp_path, vendor)

    return make
