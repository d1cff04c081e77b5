"""A runtime, a stand-in for a translated module and a way to run scripts against both."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.device_properties import write_device_properties
from kernel_pytorch.emulate.runtime_build import NATIVE, runtime_directory
from tests.emulate.runtime.code_objects import code_object

HERE = Path(__file__).parent
# What differs between targets in the state a wave starts with: how the stand-in is built for each.
TARGETS = {"mi300x": ("gfx942", 64), "mi250x": ("gfx90a", 64), "rx6900xt": ("gfx1030", 32), "rx9070xt": ("gfx1201", 32)}


@dataclass(frozen=True)
class Ran:
    """How a script ended."""

    code: int
    out: str
    err: str
    events: tuple[dict[str, Any], ...]

    @property
    def faults(self) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == "fault"]


Run = Callable[..., Ran]


@pytest.fixture(scope="session")
def runtime() -> Path:
    """The directory of libamdhip64.so."""
    return runtime_directory()


@pytest.fixture(scope="session")
def host_cc() -> str:
    """A C compiler of this machine."""
    found = shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
    if found is None:
        pytest.skip("no C compiler to build the stand-in kernels with")
    return found


@pytest.fixture(scope="session")
def run(runtime: Path, host_cc: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a script with `hip_calls` imported, on a GPU of the table, in a process of its own."""
    directory = tmp_path_factory.mktemp("runtime")
    modules = directory / "modules"
    modules.mkdir()
    elf = code_object()
    (directory / "kernels.hsaco").write_bytes(elf)
    digest = hashlib.sha256(elf).hexdigest()

    def stand_in(alias: str, build: str) -> None:
        target, wave = TARGETS[alias]
        library = modules / f"{digest}-{target}-{build}.so"
        if library.exists():
            return
        command = [host_cc, "-O1", "-shared", "-fPIC", f"-I{NATIVE}", f"-DWAVE={wave}", f'-DTARGET="{target}"']
        subprocess.run([*command, "-o", str(library), str(HERE / "kernels.c")], check=True)

    def go(
        script: str, gpu: str = "mi300x", devices: int = 1, env: Mapping[str, str] | None = None, timeout_s: float = 60
    ) -> Ran:
        flags = (env or {}).get("KPT_EMULATE_FLAGS", "")
        stand_in(gpu, "checked" if "checked" in flags or "races" in flags else "plain")
        properties = directory / f"{gpu}-{devices}.json"
        write_device_properties(gpu_by_alias(gpu), properties, devices)
        report = directory / "report.jsonl"
        report.unlink(missing_ok=True)
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("KPT_EMULATE")},
            "KPT_TEST_RUNTIME": str(runtime),
            "KPT_TEST_CODE_OBJECT": str(directory / "kernels.hsaco"),
            "KPT_EMULATE_GPU": str(properties),
            "KPT_EMULATE_CACHE": str(modules),
            "KPT_EMULATE_REPORT": str(report),
            "KPT_EMULATE_THREADS": "2",
            "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
            **(env or {}),
        }
        text = "from hip_calls import *\n" + textwrap.dedent(script)
        done = subprocess.run(
            [sys.executable, "-c", text],
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        lines = report.read_text().splitlines() if report.exists() else []
        return Ran(done.returncode, done.stdout, done.stderr, tuple(json.loads(line) for line in lines))

    return go
