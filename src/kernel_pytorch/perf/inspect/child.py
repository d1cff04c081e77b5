"""Runs a worker module in a process of its own: what it patches, and what the user's code does, ends with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from subprocess import TimeoutExpired

from kernel_pytorch.core.children import KPT_GRACE_S
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.process import stream_child
from kernel_pytorch.core.project_code import require_project_code
from kernel_pytorch.core.python_child import python_module

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
    said: list[str] = []

    def hear(line: str) -> None:
        if line.startswith(NEWS):
            tell(line.removeprefix(NEWS).rstrip())
        else:
            said.append(line)

    try:
        status = stream_child(command, json.dumps(request), hear, timeout_s=limit_s, grace_s=KPT_GRACE_S)
    except TimeoutExpired as late:
        raise UsageError(f"{what}: not finished after {limit_s:g} s") from late
    stderr = "".join(said)
    if status == 2:
        raise UsageError(_last_message(stderr))
    if status != 0:
        last = "\n".join(stderr.strip().splitlines()[-12:])
        raise UsageError(f"{what}: the inspection ended with status {status}\n{last}")


def _last_message(stderr: str) -> str:
    ours = [line for line in stderr.splitlines() if line.startswith("kpt: ")]
    return ours[-1].removeprefix("kpt: ") if ours else stderr.strip()[-800:]
