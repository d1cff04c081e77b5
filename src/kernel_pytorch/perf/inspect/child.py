"""Runs a worker module in a process of its own: what it patches, and what the user's code does, ends with it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.project_code import require_project_code
from kernel_pytorch.core.python_child import child_environment, python_module

LIMIT_S = 1800
NEWS = "kpt-news: "
"""How a line of the worker's begins that its parent passes on."""


def tell_parent(text: str) -> None:
    """From a worker: one line for the user."""
    print(f"{NEWS}{text}", file=sys.stderr, flush=True)


def run_child(
    module: str,
    request: dict[str, object],
    what: str,
    limit_s: float = LIMIT_S,
    tell: Callable[[str], None] = lambda text: None,
) -> None:
    """Run a worker to its end. What the user's code prints is kept back. Raises UsageError where it fails."""
    require_project_code(what)
    command = python_module(module, options=("-W", "ignore"))
    with subprocess.Popen(
        command,
        env=child_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # it starts compilers: all of them end with it
    ) as process:
        timer = threading.Timer(limit_s, _end, [process])
        timer.start()
        try:
            assert process.stdin is not None and process.stderr is not None
            process.stdin.write(json.dumps(request))
            process.stdin.close()
            said = []
            for line in process.stderr:
                if line.startswith(NEWS):
                    tell(line.removeprefix(NEWS).rstrip())
                else:
                    said.append(line)
            status = process.wait()
            late = timer.finished.is_set()
        except BaseException:
            _end(process)
            raise
        finally:
            timer.cancel()
    stderr = "".join(said)
    if late:
        raise UsageError(f"{what}: not done after {limit_s:g} s")
    if status == 2:
        raise UsageError(_last_message(stderr))
    if status != 0:
        last = "\n".join(stderr.strip().splitlines()[-12:])
        raise UsageError(f"{what}: the inspection ended with status {status}\n{last}")


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _last_message(stderr: str) -> str:
    ours = [line for line in stderr.splitlines() if line.startswith("kpt: ")]
    return ours[-1].removeprefix("kpt: ") if ours else stderr.strip()[-800:]
