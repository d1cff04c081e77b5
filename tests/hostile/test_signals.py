"""A command that is told to end (a CI time limit, a closed terminal, Ctrl-C) leaves no process and no file behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PATIENCE_S = 120.0
SLEEPS = "import pathlib, sys, time; pathlib.Path(sys.argv[1]).touch(); time.sleep(1000)"
TARGET = """import os, pathlib, time
def example():
    pathlib.Path(os.environ["READY"]).touch()
    time.sleep(1000)
"""
PROGRAM = """#include <cstdio>
#include <cstdlib>
#include <unistd.h>
int main() {
  if (FILE *file = fopen(getenv("READY"), "w")) fclose(file);
  for (;;) sleep(1000);
}
"""
# Preprocessing it takes longer than anybody waits.
ENDLESS = """#if __INCLUDE_LEVEL__ < 180
#include "endless.hip"
#include "endless.hip"
#endif
"""


@dataclass
class Command:
    """A kpt and all it starts: they share a mark in their environment, and a folder for temporary files."""

    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def ready(self) -> Path:
        return self.folder / "ready"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    def start(self, *words: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        self.temporary.mkdir(exist_ok=True)
        environment = {
            **os.environ,
            "KPT_TEST_MARK": self.mark,
            "TMPDIR": str(self.temporary),
            "READY": str(self.ready),
        }
        return subprocess.Popen(
            [sys.executable, "-m", "kernel_pytorch", *words],
            cwd=self.folder, env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip

    def processes(self) -> dict[int, str]:
        """Those with our mark that still run, with their command lines."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if f"KPT_TEST_MARK={self.mark}".encode() in (folder / "environ").read_bytes():
                    words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    if words:  # a process that is over and not yet waited for has none
                        found[int(folder.name)] = words
            except OSError:
                continue
        return found

    def wait_for(self, process: subprocess.Popen[bytes], running: str = "") -> None:
        """Until what was started says that it is ready, or a process with such a command line is there."""
        ends = time.monotonic() + PATIENCE_S
        while not (self.ready.exists() or (running and any(running in one for one in self.processes().values()))):
            assert process.poll() is None and time.monotonic() < ends, process.communicate()[1].decode()
            time.sleep(0.05)

    def check_nothing_is_left(self) -> None:
        ends = time.monotonic() + PATIENCE_S  # the system takes a moment to remove what was killed
        while self.processes() and time.monotonic() < ends:
            time.sleep(0.05)
        assert self.processes() == {}
        # Triton and torch make these empty folders when they are imported, in any process.
        left = [path for path in self.temporary.rglob("*") if not path.is_dir()]
        assert left == [] and not list(self.temporary.glob("kpt*"))


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    made = Command(tmp_path)
    yield made
    for pid in made.processes():  # where a test failed
        os.kill(pid, signal.SIGKILL)


ENDINGS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def end(command: Command, process: subprocess.Popen[bytes], number: int) -> str:
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + number, err.decode()
    command.check_nothing_is_left()
    return err.decode()


@pytest.mark.parametrize("number", ENDINGS)
def test_a_program_that_is_emulated(command: Command, number: int) -> None:
    """It starts another one, which has a group of its own: that ends too."""
    both = (
        "import subprocess, sys\n"
        f"subprocess.run([sys.executable, '-c', {SLEEPS!r}, sys.argv[1]], start_new_session=True)\n"
    )
    process = command.start("emulate", sys.executable, "--", "-c", both, str(command.ready))
    command.wait_for(process)
    assert len(command.processes()) == 3
    said = end(command, process, number)
    assert ("interrupted" if number == signal.SIGINT else f"interrupted by {signal.Signals(number).name}") in said


def test_a_program_that_ignores_the_signal_is_ended_by_force(command: Command) -> None:
    deaf = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{SLEEPS}"
    process = command.start("emulate", sys.executable, "--", "-c", deaf, str(command.ready))
    command.wait_for(process)
    end(command, process, signal.SIGTERM)


def test_a_time_limit_ends_the_same(command: Command) -> None:
    deaf = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{SLEEPS}"
    words = ["emulate", sys.executable, "--timeout", "2", "--", "-c", deaf, str(command.ready)]
    process = command.start(*words)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    command.check_nothing_is_left()


def test_the_run_level_and_the_kpt_that_it_starts(command: Command) -> None:
    root = command.folder / "project"
    (root / "csrc").mkdir(parents=True)
    (root / "csrc/selfcheck.cu").write_text(PROGRAM)
    (root / "pyproject.toml").write_text('[tool.kernel_pytorch.verify]\nprograms = ["csrc/selfcheck.cu"]\n')
    process = command.start("verify", str(root), "--level", "run", "--arch", "gfx942")
    command.wait_for(process)
    assert len(command.processes()) >= 3  # verify, emulate, the program
    end(command, process, signal.SIGTERM)


def test_an_entry_point_of_the_run_level(command: Command) -> None:
    root = command.folder / "project"
    root.mkdir()
    (root / "entry.py").write_text(TARGET)
    (root / "pyproject.toml").write_text('[tool.kernel_pytorch.verify]\nentry_points = ["entry:example"]\n')
    process = command.start("verify", str(root), "--level", "run", "--arch", "gfx942")
    command.wait_for(process)
    end(command, process, signal.SIGTERM)


def test_a_compiler(command: Command) -> None:
    (command.folder / "endless.hip").write_text(ENDLESS)
    process = command.start("build", "endless.hip", "--arch", "gfx942")
    command.wait_for(process, "--offload-arch=gfx942")
    end(command, process, signal.SIGHUP)


def test_the_worker_of_an_inspection(command: Command) -> None:
    pytest.importorskip("torch")
    (command.folder / "entry.py").write_text(TARGET)
    process = command.start("inspect", "entry.py:example", "--arch", "gfx942")
    command.wait_for(process)
    assert len(command.processes()) == 2
    end(command, process, signal.SIGTERM)


def test_the_workers_of_a_scan(command: Command) -> None:
    """Processes that were forked end with the one that forked them."""
    for folder in range(6):
        for number in range(160):
            path = command.folder / "tree" / f"f{folder}" / f"m{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("import torch\n" + "x = torch.cuda.is_available()\n" * 400)
    process = command.start("scan", "tree", "-j", "2")
    ends = time.monotonic() + PATIENCE_S
    while len(command.processes()) < 3 and process.poll() is None and time.monotonic() < ends:
        time.sleep(0.02)
    assert process.poll() is None, "the scan was over before it could be ended: give it more to do"
    end(command, process, signal.SIGTERM)


def test_a_server_and_the_call_it_serves(command: Command) -> None:
    pytest.importorskip("mcp", reason='pip install "kernel-pytorch[mcp]"')
    (command.folder / "entry.py").write_text(TARGET)
    process = command.start("mcp", "--root", str(command.folder), stdin=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    about = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    call = {"name": "bench", "arguments": {"targets": ["entry.py:example"]}}
    for message in (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ):
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        if "id" in message and message["id"] == 1:
            assert b'"result"' in process.stdout.readline()
    command.wait_for(process)
    assert len(command.processes()) == 2
    end(command, process, signal.SIGTERM)


def test_what_nohup_starts_goes_on(command: Command) -> None:
    """A signal that is ignored when the command starts stays ignored."""
    process = subprocess.Popen(
        ["nohup", sys.executable, "-m", "kernel_pytorch", "emulate", sys.executable, "--", "-c",
         SLEEPS, str(command.ready)],
        env={**os.environ, "KPT_TEST_MARK": command.mark}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    command.wait_for(process)
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE_S) == 128 + signal.SIGTERM
