"""From a tool call to its answer: arguments checked, kpt run, its JSON given back."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_pytorch.cli.mcp_server.arguments import command_words
from kernel_pytorch.cli.mcp_server.child import Ended, Tell, run_kpt
from kernel_pytorch.cli.mcp_server.guessed import as_the_tool_has_them
from kernel_pytorch.cli.mcp_server.rooted import Root
from kernel_pytorch.cli.mcp_server.shorten import LIST_LIMIT, shorten
from kernel_pytorch.cli.mcp_server.tools import Tool
from kernel_pytorch.core.errors import UsageError

# The end of what a verb said is what explains its result.
MESSAGES_LIMIT = 4000


@dataclass(frozen=True)
class Answer:
    """What a client gets. An error names the fact and the next step, as on the command line."""

    content: dict[str, Any]
    is_error: bool = False


async def answer(tool: Tool, given: Mapping[str, Any], root: Root, tell: Tell) -> Answer:
    """Runs one call. Bad input and failed calls are answers too."""
    try:
        meant = as_the_tool_has_them(tool, given)
        _check(tool, meant)
        return await _run(tool, meant, root, tell)
    except UsageError as problem:
        return Answer({"error": str(problem)}, is_error=True)


def _check(tool: Tool, given: Mapping[str, Any]) -> None:
    from jsonschema import Draft202012Validator

    for problem in Draft202012Validator(tool.schema()).iter_errors(dict(given)):
        place = ".".join(map(str, problem.absolute_path)) or "arguments"
        raise UsageError(f"{tool.name}: {place}: {problem.message}")


async def _run(tool: Tool, given: Mapping[str, Any], root: Root, tell: Tell) -> Answer:
    words = [tool.name, "--json", *command_words(tool.arguments, given, root)]
    seconds = float(given.get("timeout_s", tool.seconds))
    with tempfile.TemporaryDirectory(prefix="kpt-mcp-") as scratch:
        extra: dict[str, Any] = {}
        as_text = tool.name == "hipify" and not (given.get("out") or given.get("examine"))
        translated = Path(scratch) / "translated.hip"
        if as_text:
            words.append(f"--output={translated}")
        ended = await run_kpt(words, root.folder, seconds, tell)
        result = _result(ended)
        if as_text and translated.is_file():
            extra["source"] = translated.read_text(encoding="utf-8", errors="replace")
        if tool.name == "port" and not (given.get("write") or given.get("out")):
            plain = [word for word in words if word != "--json" and not word.startswith("--html=")]
            shown = await run_kpt([*plain, "--no-build"], root.folder, seconds, tell)
            _raise_for(shown)
            extra["diff"] = shown.output
    short, left_out = shorten({"result": result, **extra}, int(given.get("limit", LIST_LIMIT)))
    content = {
        "exit_status": ended.status,
        "verdict": "clean" if ended.status == 0 else "findings",
        **short,
        "said": ended.messages[-MESSAGES_LIMIT:],
    }
    return Answer({**content, "left_out": left_out} if left_out else content)


def _raise_for(ended: Ended) -> None:
    """Exit 2, a crash or a time limit: the caller gets the words of the process instead of a result."""
    if ended.reason:
        raise UsageError(ended.reason)
    if ended.status < 0:
        raise UsageError(f"kpt was ended by signal {-ended.status}: {ended.messages[-MESSAGES_LIMIT:]}")
    if ended.status not in (0, 1):
        raise UsageError(
            ended.messages[-MESSAGES_LIMIT:].removeprefix("kpt: ") or f"kpt ended with status {ended.status}"
        )


def _result(ended: Ended) -> Any:
    _raise_for(ended)
    try:
        return json.loads(ended.output)
    except ValueError as problem:
        # Python ends with status 1 after a traceback, which is not a verdict.
        raise UsageError(f"kpt gave no JSON ({problem}): {ended.messages[-MESSAGES_LIMIT:]}") from problem
