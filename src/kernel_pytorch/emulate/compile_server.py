"""Runs the compiler and the translator for a program that runs.

`python -m kernel_pytorch.emulate.compile_server SOCKET_NUMBER` takes requests from a socket that it inherits and forks
for each: Python and our modules are loaded once, not twice for every kernel that a program compiles while it runs.
`native/runtime/child.cpp` asks; where nobody answers, it starts the command itself.

A request is its length (four bytes, with the file for what the command prints), then words that end with a zero byte:
folder, number of words of the command, those words, the environment. The answer is the exit status, one byte.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select
from threading import Thread

from kernel_pytorch.core.children import ended_by_signals
from kernel_pytorch.core.process import ChildProcess, end_child, start_child
from kernel_pytorch.core.python_child import python_module

VARIABLE = "KPT_EMULATE_SERVER"
_HEAD = struct.Struct("=I")
_TRANSLATE, _COMPILE = "kernel_pytorch.emulate.translate", "kernel_pytorch.emulate.runtime_compile"


@contextmanager
def compile_server(scratch: Path) -> Iterator[Mapping[str, str]]:
    """Inside, a program with these variables finds a server. It is started when the program asks for the first time,
    and ended with the block."""
    path = scratch / "compile"
    started: list[ChildProcess] = []
    with socket.socket(socket.AF_UNIX) as listening, _pipe() as (is_over, end):
        try:
            listening.bind(str(path))
        except OSError:  # a path that is too long for a socket: programs start what they need themselves
            yield {}
            return
        listening.listen(64)
        waiter = Thread(target=_start_when_asked, args=(listening, is_over, started), daemon=True)
        waiter.start()
        try:
            yield {VARIABLE: str(path)}
        finally:
            os.write(end, b"0")
            waiter.join()
            for process in started:
                end_child(process)


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for one in ends:
            os.close(one)


def _start_when_asked(listening: socket.socket, is_over: int, started: list[ChildProcess]) -> None:
    if is_over in select([listening.fileno(), is_over], [], [])[0]:
        return
    number = listening.fileno()
    command = python_module(__name__, str(number))
    with suppress(OSError, KeyboardInterrupt):  # the program waits for an answer, gets none, and starts its own
        started.append(start_child(command, stdout=None, stderr=None, pass_fds=(number,)))


def commands() -> dict[str, Callable[[list[str]], int]]:
    """What can be asked for, by module."""
    from kernel_pytorch.emulate import runtime_compile, translate

    return {_TRANSLATE: translate.main, _COMPILE: runtime_compile.main}


def serve(listening: socket.socket) -> None:
    """Answers until it is ended."""
    known = commands()
    while True:
        connection = listening.accept()[0]
        # Not left to SIG_IGN: the time of a process that nobody waits for is counted nowhere.
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if os.fork() == 0:
            listening.close()
            os._exit(_answer(connection, known))
        connection.close()


def _answer(connection: socket.socket, known: Mapping[str, Callable[[list[str]], int]]) -> int:
    """In a process of its own: runs one command. No answer means that the program has to start it itself."""
    try:
        with ended_by_signals():
            head, files, _, _ = socket.recv_fds(connection, _HEAD.size, 1)
            for at in (1, 2):
                os.dup2(files[0], at)
            folder, count, *rest = _received(connection, _HEAD.unpack(head)[0]).split(b"\0")[:-1]
            words, environment = rest[: int(count)], rest[int(count) :]
            command = [os.fsdecode(word) for word in words]
            module = command[2] if len(command) > 2 else ""
            if module not in known or command[:3] != python_module(module):
                return 1
            os.environb.clear()
            os.environb.update(dict(one.split(b"=", 1) for one in environment if b"=" in one))
            os.chdir(folder)
            tempfile.tempdir = None
            status = known[module](command[3:])
            sys.stdout.flush()
            sys.stderr.flush()
            connection.sendall(bytes([status & 255]))
            return 0
    except BaseException as problem:  # a fault of ours: the program starts the command itself and shows what it says
        print(f"kpt: compile server: {type(problem).__name__}: {problem}", file=sys.stderr)
        return 1


def _received(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError("the program went away")
        data += part
    return bytes(data)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        serve(socket.socket(fileno=int(sys.argv[1])))
