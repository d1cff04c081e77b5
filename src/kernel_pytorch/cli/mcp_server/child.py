"""One call is one `kpt` process: it may crash, hang or be cancelled, and the server goes on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

from kernel_pytorch.core.children import KPT_GRACE_S, Child, end, register
from kernel_pytorch.core.inside import BOUND
from kernel_pytorch.core.python_child import child_environment, python_module

MAX_OUTPUT = 64 << 20

Tell = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class Ended:
    """How a call ended. `reason` says why there is no result of its own: a time limit, or too much output."""

    status: int
    output: str
    messages: str
    reason: str = ""


async def run_kpt(words: list[str], folder: Path, seconds: float, tell: Tell) -> Ended:
    """Runs `kpt WORDS` in a folder; lines on its standard error are told as they come."""
    import anyio

    process = await anyio.open_process(
        python_module("kernel_pytorch", *words),
        env={**child_environment(), BOUND: str(folder)},
        stdin=DEVNULL,
        cwd=folder,
        start_new_session=True,
    )
    register(Child(process.pid, grace_s=KPT_GRACE_S))
    output = bytearray()
    messages: list[str] = []
    reason = ""
    try:
        with anyio.move_on_after(seconds) as limit:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_talk, process, messages, tell)
                reason = await _collect(process, output)
                if reason:
                    await _end(process)
            await process.wait()
        if limit.cancelled_caught:
            reason = f"stopped after {seconds:g} s (timeout_s allows more)"
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
            await process.aclose()
    status = process.returncode if process.returncode is not None else -1
    return Ended(status, output.decode("utf-8", "replace"), "\n".join(messages), reason)


async def _collect(process: Any, output: bytearray) -> str:
    async for chunk in process.stdout:
        output += chunk
        if len(output) > MAX_OUTPUT:
            return f"more than {MAX_OUTPUT >> 20} MB of output: ask for less (select, exclude, a smaller path)"
    return ""


async def _talk(process: Any, messages: list[str], tell: Tell) -> None:
    pending = b""
    async for chunk in process.stderr:
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            messages.append(line.decode("utf-8", "replace"))
            await tell(messages[-1])
    if pending:
        messages.append(pending.decode("utf-8", "replace"))


async def _end(process: Any) -> None:
    """Ends the process and everything it started."""
    import anyio

    if process.returncode is not None:
        return
    # In a thread: it waits, and the server goes on.
    await anyio.to_thread.run_sync(end, [Child(process.pid, grace_s=KPT_GRACE_S)])
    await process.wait()
