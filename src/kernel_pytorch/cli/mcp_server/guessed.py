"""Arguments as a client guesses them, turned into those that a tool has.

The schema names every argument, yet clients often write from memory: `file` for `files`, `code` for `codes`, one text
where a list is wanted. What is meant is plain, so the call is taken. A name that the tool has is never given away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel_pytorch.cli.mcp_server.arguments import REPEATED
from kernel_pytorch.cli.mcp_server.tools import Tool
from kernel_pytorch.core.errors import UsageError

# What else an argument may be called.
NAMES: Mapping[str, tuple[str, ...]] = {
    "path": ("project", "folder", "directory", "dir", "repo", "file", "paths"),
    "files": ("file", "path", "paths", "source", "sources", "program"),
    "codes": ("code", "rule", "rules"),
    "target": ("model", "subject", "trace", "path", "file", "entry_point"),
    "targets": ("target", "model", "models"),
    "out": ("output", "out_dir", "output_dir", "destination"),
    "arch": ("archs", "architecture", "architectures", "gfx", "targets", "target"),
    "gpu": ("device", "arch", "gfx"),
    "level": ("levels",),
    "levels": ("level",),
    "include_dirs": ("include", "includes", "include_paths", "includes_dirs"),
    "defines": ("define", "macros"),
    "program_arguments": ("args", "arguments", "argv"),
    "timeout_s": ("timeout", "timeout_seconds"),
}


def as_the_tool_has_them(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """The call with the tool's own names and lists where lists are wanted. Raises UsageError for a name unknown."""
    own = list(tool.schema()["properties"])
    taken = {name: value for name, value in given.items() if name in own}
    for name, value in given.items():
        if name in own:
            continue
        meant = next((one for one in own if one not in taken and name in NAMES.get(one, ())), None)
        if meant is None:
            raise UsageError(f"{tool.name} has no argument {name!r}; there are: {', '.join(own)}")
        taken[meant] = value
    forms = {argument.name: argument.form for argument in tool.arguments}
    return {name: _as_list(forms.get(name, ""), value) for name, value in taken.items()}


def _as_list(form: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if form == "list":
        return [part.strip() for part in value.split(",")]
    return [value] if form in REPEATED else value
