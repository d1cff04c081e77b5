"""The one way to start another program: with a time limit, and ended with everything it started (see `children`)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from signal import SIGTERM
from subprocess import DEVNULL, PIPE, CompletedProcess, Popen, TimeoutExpired
from typing import Any

from kernel_pytorch.core.children import GRACE_S, Child, check_not_stopped, end, register, signals_held
from kernel_pytorch.core.python_child import child_environment

Command = Sequence[str | os.PathLike[str]]


class ChildProcess(Popen[Any]):
    """A running program. `child` is what `children` knows of it."""

    child: Child


def start_child(
    command: Command,
    *,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int | None = DEVNULL,
    stdout: Any = PIPE,
    stderr: Any = PIPE,
    text: bool = False,
    own_group: bool = True,
    grace_s: float = GRACE_S,
    ends_with: int = SIGTERM,
    pass_fds: Sequence[int] = (),
) -> ChildProcess:
    """Start a program whose end the caller looks after (`end_child`); a signal to this process ends it too.

    `own_group` False is for what needs the terminal, such as a debugger. Text is UTF-8. No child, however deep, finds
    modules in the current folder by way of PYTHONPATH (see `python_child`).
    """
    check_not_stopped()
    with signals_held():
        process = ChildProcess(
            command,
            cwd=cwd,
            env=child_environment(env),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=own_group,
            encoding="utf-8" if text else None,
            errors="replace" if text else None,
            pass_fds=pass_fds,
        )
        process.child = Child(process.pid, own_group, grace_s, ends_with)
        register(process.child)
    try:
        check_not_stopped()  # in another thread, while this one started it
    except BaseException:
        end_child(process)
        raise
    return process


def end_child(process: ChildProcess, grace_s: float | None = None) -> None:
    """End a child and everything it started, and close what connects us with it."""
    child = process.child
    end([child if grace_s is None else replace(child, grace_s=grace_s)])
    _last_output(process)


def _last_output(process: ChildProcess) -> tuple[Any, Any]:
    try:
        return process.communicate(timeout=1)
    except (TimeoutExpired, ValueError, OSError):
        # Stuck in the kernel (an unresponsive GPU does this), or a pipe that somebody else still holds.
        _close_pipes(process)
        with suppress(TimeoutExpired):
            process.wait(timeout=1)
        return None, None


def _close_pipes(process: ChildProcess) -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):  # what was not written yet has no reader any more
                pipe.close()


@contextmanager
def child(command: Command, **how: Any) -> Iterator[ChildProcess]:
    """A program that is over when the block is: ended if it still runs then. `how` is as in `start_child`."""
    process = start_child(command, **how)
    try:
        yield process
    finally:
        if process.poll() is None:
            end_child(process)
        _close_pipes(process)


def run_child_bytes(
    command: Command,
    *,
    timeout_s: float | None = None,
    cpu_s: float | None = None,
    data: bytes | None = None,
    **how: Any,
) -> CompletedProcess[bytes]:
    """Run a program to its end and collect what it writes. `data` is its standard input, by default nothing.

    `cpu_s` limits the time that the program itself works, all its threads together: it ends with SIGXCPU.

    Raises TimeoutExpired with what was written so far, once the program and all it started have ended; OSError where
    it cannot be started.
    """
    if data is not None:
        how["stdin"] = PIPE
    with child(command, **how) as process:
        if cpu_s is not None:
            _limit_cpu(process.pid, cpu_s)
        try:
            out, err = process.communicate(data, timeout=timeout_s)
        except TimeoutExpired:
            end([process.child])
            raise TimeoutExpired(process.args, timeout_s or 0.0, *_last_output(process)) from None
    check_not_stopped()
    return CompletedProcess(process.args, process.returncode, out, err)


def _limit_cpu(pid: int, seconds: float) -> None:
    import resource

    soft = max(1, round(seconds))
    with suppress(ProcessLookupError):  # it may have ended already
        resource.prlimit(pid, resource.RLIMIT_CPU, (soft, soft + 5))


def run_child(
    command: Command, *, timeout_s: float | None = None, text: str | None = None, **how: Any
) -> CompletedProcess[str]:
    """`run_child_bytes` for programs that speak text: UTF-8, what is not UTF-8 replaced, every line end as one \\n."""
    data = None if text is None else text.encode("utf-8", "surrogateescape")
    try:
        done = run_child_bytes(command, timeout_s=timeout_s, data=data, **how)
    except TimeoutExpired as late:
        raise TimeoutExpired(late.cmd, late.timeout, plain_text(late.output), plain_text(late.stderr)) from None
    return CompletedProcess(done.args, done.returncode, plain_text(done.stdout), plain_text(done.stderr))


def run_in_terminal(command: Command, *, env: Mapping[str, str] | None = None, grace_s: float = GRACE_S) -> int:
    """Run a program that reads and writes where this one does; its exit status."""
    with child(command, env=env, stdin=None, stdout=None, stderr=None, grace_s=grace_s) as process:
        return int(process.wait())


def stream_child(
    command: Command, text: str, heard: Callable[[str], None], *, timeout_s: float, grace_s: float = GRACE_S
) -> int:
    """Run a program that gets `text`, and hear every line of its standard error as it comes; its exit status.

    Raises TimeoutExpired.
    """
    with child(command, stdin=PIPE, stdout=DEVNULL, text=True, grace_s=grace_s) as process:
        is_late = threading.Event()

        def end_it() -> None:
            is_late.set()
            end([process.child])

        limit = threading.Timer(timeout_s, end_it)
        limit.daemon = True
        limit.start()
        try:
            assert process.stdin is not None and process.stderr is not None
            try:
                process.stdin.write(text)
                process.stdin.close()
            except BrokenPipeError:  # it ended without reading: its words and its status say why
                pass
            for line in process.stderr:
                heard(line)
            status = process.wait()
        finally:
            limit.cancel()
    check_not_stopped()
    if is_late.is_set():
        raise TimeoutExpired(process.args, timeout_s)
    return int(status)


def plain_text(data: bytes | None) -> str:
    """What a program wrote, as text."""
    text = (data or b"").decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
