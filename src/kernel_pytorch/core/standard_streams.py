"""Standard output and error of a command: what is sent to them arrives, or it is said that it did not.

Text of a stranger's (file names, source lines, symbols) must not command the terminal: see `printable`.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from kernel_pytorch.core.printable import printable

if TYPE_CHECKING:
    from rich.console import Console

EXIT_CLOSED_PIPE = 141  # what a shell reports for a program that SIGPIPE ended: 128 + 13
EXIT_NOT_WRITTEN = 74  # EX_IOERR of sysexits.h
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EBADF})


class _Printable(io.TextIOWrapper):
    """A text stream that writes out what would command a terminal. `plain` is the stream it took the place of."""

    def __init__(self, plain: io.TextIOWrapper) -> None:
        by_line = plain.line_buffering or plain.write_through
        super().__init__(plain.buffer, plain.encoding, "backslashreplace", line_buffering=by_line)
        self.plain = plain

    def write(self, text: str) -> int:
        super().write(printable(text))
        return len(text)


def prepare_streams() -> None:
    """Makes the streams of this process safe to write to. For a process that is a command, not for a library."""
    for number in range(3):  # one that is closed is the number the next file gets: output would go into that file
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if not isinstance(stream, io.TextIOWrapper):
            continue
        if name == "stderr" or stream.isatty():
            setattr(sys, name, _Printable(stream))
        else:  # a file gets what it is sent: a diff must apply
            stream.reconfigure(errors="backslashreplace")


def rich_console(stream: TextIO) -> Console:
    """A console of rich's on a standard stream: its own colours go through. The text must be `printable`."""
    from rich.console import Console

    return Console(file=getattr(stream, "plain", stream))


def write_bytes(data: bytes) -> None:
    """Bytes to standard output as they are; written out on a terminal."""
    if sys.stdout.isatty():
        sys.stdout.write(data.decode("utf-8", "surrogateescape"))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    sys.stdout.flush()


def say(text: str) -> None:
    """One line on standard error, if anyone listens."""
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def finish(status: int) -> int:
    """Sends what is left. The status, or that of an output which did not arrive."""
    if sys.stdout is None:
        say("kpt: standard output is closed: nothing of the output arrived")
        return EXIT_NOT_WRITTEN
    try:
        sys.stdout.flush()
    except OSError as problem:
        return not_arrived(problem)
    return status


def not_arrived(problem: OSError) -> int:
    """The exit status for output that could not be written, said once. Python would complain again at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            with suppress(OSError, ValueError, AttributeError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    if isinstance(problem, BrokenPipeError):
        return EXIT_CLOSED_PIPE  # `kpt ... | head`: the reader has gone, which is its right
    say(f"kpt: the output could not be written ({problem.strerror}): what arrived is not complete")
    return EXIT_NOT_WRITTEN
