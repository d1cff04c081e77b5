"""`kpt VERB ...`: finds the verbs by file name and imports only the one that is asked for.

A verb is a module in this folder with `SUMMARY`, `add_arguments(parser)` and `run(args) -> int`. Its one-line
summary is read from the source without importing it, so that `kpt --help` stays fast however heavy a verb gets.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import gc
import importlib
import os
import re
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from kernel_pytorch.cli.arguments.outputs import check_outputs
from kernel_pytorch.core.children import ended_by_signals
from kernel_pytorch.core.errors import AMDBackendError, UsageError
from kernel_pytorch.core.given_path import file_problem
from kernel_pytorch.core.optional_packages import pip_install
from kernel_pytorch.core.printable import has_controls, on_one_line
from kernel_pytorch.core.standard_streams import NO_ROOM, finish, not_arrived, prepare_streams, say
from kernel_pytorch.version import VERSION

EXIT_USAGE = 2
EXIT_INTERNAL = 70  # EX_SOFTWARE of sysexits.h
TRACE_VARIABLE = "KPT_TRACEBACK"
REPORT_TO = "the issues of the project's repository, with the trace"
NOT_VERBS = {"__init__", "main"}

# What a user brings, or not: we never install these by ourselves.
OPTIONAL = {
    "torch": "install the torch that fits your GPU, or `pip install torch` for a CPU one",
    "triton": pip_install("toolchain"),
    "numpy": "pip install numpy",
}

PURPOSE = "Move CUDA and PyTorch code to AMD GPUs, verify the port, make it fast."
# The verbs in the order in which a port needs them.
GROUPS = {
    "check": ("doctor", "deps", "scan", "explain"),
    "port": ("port", "hipify"),
    "verify": ("verify", "build", "emulate", "golden"),
    "measure": ("bench", "profile", "inspect", "optimize", "aiter"),
    "agents": ("skill", "mcp"),
}

EPILOG = """\
where to start: `kpt doctor`, then `kpt scan PATH`, `kpt port PATH`, `kpt verify PATH`
exit status: 0 clean, 1 findings or failed checks, 2 usage or tool error, 70 internal error (a fault of kpt),
             74 the output could not be written, 141 its reader has gone
`kpt VERB --help` tells more about a verb; `kpt explain CODE` about a finding."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a verb and returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        prepare_streams()
        warnings.simplefilter("ignore", SyntaxWarning)  # of sources that we parse: they are not the user's to hear of
    shows_trace = bool(os.environ.get(TRACE_VARIABLE))
    if arguments[:1] == ["--traceback"]:
        shows_trace, arguments = True, arguments[1:]
    try:
        with ended_by_signals():
            return finish(_run(arguments))
    except (UsageError, AMDBackendError) as error:
        say(_on_one_line(f"kpt: {error}", arguments))
        return EXIT_USAGE
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            return _internal_error(error, shows_trace)
        say(f"kpt: {error.name} is not installed, and this needs it: {OPTIONAL[error.name]}")
        return EXIT_USAGE
    except OSError as error:
        if error.filename is not None:  # a file that cannot be read or written is the user's to look after
            say(_on_one_line(f"kpt: {file_problem(error)}", arguments))
            return EXIT_USAGE
        if isinstance(error, BrokenPipeError) or error.errno in NO_ROOM:
            return not_arrived(error)
        return _internal_error(error, shows_trace)
    except KeyboardInterrupt as error:
        say(f"kpt: {error or 'interrupted'}")
        return 128 + getattr(error, "number", 2)
    except Exception as error:
        return _internal_error(error, shows_trace)
    finally:
        # The process ends: to look for garbage once more takes a twentieth of a long run. Triton's module (nanobind)
        # would call what is left a leak and print a page about it.
        if argv is None and "triton" not in sys.modules:
            gc.freeze()


def _on_one_line(message: str, arguments: Sequence[str]) -> str:
    """A message may have lines; a name that was typed has none, whatever characters it holds."""
    for word in filter(has_controls, arguments):
        message = message.replace(word, on_one_line(word))
    return message


def _internal_error(error: Exception, shows_trace: bool) -> int:
    """A fault of ours: never the status of findings, which a caller may accept."""
    import traceback

    if shows_trace:
        say("".join(traceback.format_exception(error)))
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    words = (str(error).splitlines() or [""])[0][:200]
    how = "" if shows_trace else f"; `kpt --traceback ...` or {TRACE_VARIABLE}=1 shows the trace"
    say(f"kpt: internal error: {type(error).__name__}{place}: {words}{how}; please report it: {REPORT_TO}")
    return EXIT_INTERNAL


class _Parser(argparse.ArgumentParser):
    """Help that does not arrive is an error too; argparse drops it in silence. A wrong option is one line."""

    def error(self, message: str) -> NoReturn:
        hint = "".join(self._nearest(word) for word in re.findall(r"(?<!\S)--[\w-]+", message)[:1])
        self.exit(EXIT_USAGE, f"{self.prog}: {message}; {hint}`{self.prog} --help` lists what it takes\n")

    def _nearest(self, word: str) -> str:
        if word in self._option_string_actions:
            return ""
        near = difflib.get_close_matches(word, self._option_string_actions, n=1, cutoff=0.7)
        return f"did you mean {near[0]}? " if near else ""

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:
            (file or sys.stderr).write(message)


def _run(arguments: list[str]) -> int:
    verbs = verb_summaries()
    parser = _top_parser(verbs)
    verb = next((word for word in arguments if not word.startswith("-")), None)
    if verb is None or arguments[0] != verb:
        return _exit_status(parser, arguments)
    if verb not in verbs:
        near = difflib.get_close_matches(verb, verbs, n=1)
        hint = f"did you mean `kpt {near[0]}`?" if near else f"the verbs are: {', '.join(verbs)}"
        raise UsageError(f"no verb {verb!r}; {hint}")
    try:
        parsed = parser_for(verb).parse_args(arguments[1:])
    except SystemExit as stop:
        return int(stop.code or 0)
    check_outputs(parsed)
    return int(_module(verb).run(parsed))


def parser_for(verb: str) -> argparse.ArgumentParser:
    """The parser of a verb's own arguments."""
    module = _module(verb)
    parser = _Parser(
        prog=f"kpt {verb}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    return parser


def _module(verb: str) -> ModuleType:
    return importlib.import_module(f"kernel_pytorch.cli.{verb}")


def _top_parser(verbs: dict[str, str]) -> argparse.ArgumentParser:
    width = max(map(len, verbs), default=0)
    groups = "\n".join(
        "\n".join([f"{title}:", *(f"  {name:<{width}}  {verbs[name]}" for name in names)])
        for title, names in GROUPS.items()
    )
    parser = _Parser(
        prog="kpt",
        description=f"{PURPOSE}\n\nverbs, by what you want to do\n\n{groups}",
        epilog=EPILOG,
        usage="kpt [-h] [--version] [--traceback] VERB ...",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"kpt {VERSION}")
    parser.add_argument("--traceback", action="store_true", help="show the trace of an internal error")
    return parser


def _exit_status(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    """Handles `kpt`, `kpt --help`, `kpt --version` and options that no verb owns."""
    try:
        parser.parse_args(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    parser.print_help(sys.stderr)
    return EXIT_USAGE


def verb_summaries() -> dict[str, str]:
    """Every verb with its one-line summary, in alphabetical order."""
    folder = Path(__file__).parent
    files = sorted(path for path in folder.glob("*.py") if path.stem not in NOT_VERBS)
    return {path.stem: _summary(path) for path in files}


def _summary(path: Path) -> str:
    """The SUMMARY of a verb's file, which stands on one line: parsing whole files would cost every start 30 ms."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("SUMMARY"):
            (node,) = ast.parse(line).body
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
                return str(node.value.value)
    raise AssertionError(f"{path.name}: a verb needs a SUMMARY string on one line")
