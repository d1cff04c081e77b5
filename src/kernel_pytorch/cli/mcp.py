"""Serve the verbs to coding agents: a Model Context Protocol server on standard input and output.

    kpt mcp                       tools for the current folder
    kpt mcp --root ~/src/project  paths in calls may name things in that folder and nowhere else
    kpt mcp --no-run              no code of the project runs: without emulate, bench, verify's run level and the like
    kpt mcp --read-only           no file is written either: without the arguments that write
    kpt mcp --list                the tools and their schemas as JSON; serves nothing

A call is a `kpt` process of its own and gives back that verb's JSON. `port` is a dry run unless a call says write.
Needs the official SDK: pip install "mcp>=2" "jsonschema>=4.20". The root limits what calls may name; it is not
a sandbox for the programs that `emulate` and `verify` run.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.optional_packages import pip_install

SUMMARY = "serve the verbs to coding agents (Model Context Protocol, stdio)"
HOW = pip_install("mcp")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `kpt mcp`."""
    parser.add_argument("--root", type=Path, default=Path(), metavar="DIR", help="where calls may look (default: here)")
    parser.add_argument("--no-run", action="store_true", help="leave out what runs the project's code")
    parser.add_argument(
        "--read-only", action="store_true", help="leave out what writes files, and what runs the project's code"
    )
    parser.add_argument("--list", action="store_true", help="print the tools and their schemas as JSON, and end")


def run(args: argparse.Namespace) -> int:
    """Serve until the client goes."""
    from kernel_pytorch.cli.mcp_server.rooted import Root
    from kernel_pytorch.cli.mcp_server.tools import offered

    root = Root.at(args.root)
    no_run = args.no_run or args.read_only  # code that runs can write
    tools = offered(no_run=no_run, read_only=args.read_only)
    if args.list:
        listing = [{"name": tool.name, "description": tool.about, "input": tool.schema()} for tool in tools.values()]
        print(json.dumps(listing, indent=2))
        return 0
    _require_sdk()
    from kernel_pytorch.cli.mcp_server.server import serve
    from kernel_pytorch.core.project_code import project_code_forbidden

    if sys.stdin.isatty():
        print(f"kpt mcp: serving {root.folder} to a client on standard input; Ctrl-C ends it", file=sys.stderr)
    with project_code_forbidden(no_run):  # every call is a process that inherits this
        serve(tools, root)
    return 0


def _require_sdk() -> None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version("mcp")
    except PackageNotFoundError:
        raise UsageError(f"the MCP SDK is not installed, and this needs it: {HOW}") from None
    if int(found.split(".")[0]) < 2:
        raise UsageError(f"the MCP SDK {found} is too old, 2.0 or newer is needed: {HOW}")
