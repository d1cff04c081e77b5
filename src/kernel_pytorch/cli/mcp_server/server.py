"""The MCP server over standard input and output, with the official SDK."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kernel_pytorch.cli.mcp_server.calls import answer
from kernel_pytorch.cli.mcp_server.rooted import Root
from kernel_pytorch.cli.mcp_server.tools import Tool
from kernel_pytorch.version import VERSION

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

# Calls at once: verbs use all cores by themselves.
AT_ONCE = 2
# A client learns that a silent call is alive.
HEARTBEAT_S = 3.0
INSTRUCTIONS = """\
kpt moves CUDA and PyTorch code to AMD GPUs. Order of work: doctor, scan, port (a dry run; write=true applies it), \
build, emulate, verify. Every finding has a code: explain tells what it is. exit_status 0 is clean, 1 is findings or \
failed checks. Nothing here runs on an AMD GPU unless the machine has one: built, emulated and ran are three \
different claims. Paths are relative to {root}."""


def serve(tools: dict[str, Tool], root: Root) -> None:
    """Serves until the client closes standard input."""
    import anyio

    anyio.run(_serve, tools, root)


async def _serve(tools: dict[str, Tool], root: Root) -> None:
    from mcp.server.stdio import stdio_server

    server = make_server(tools, root)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


def make_server(tools: dict[str, Tool], root: Root) -> Server[Any]:
    """The SDK's server with our tools."""
    import anyio
    import mcp_types as types
    from mcp.server.lowlevel import Server

    turns = anyio.CapacityLimiter(AT_ONCE)

    async def list_tools(ctx: ServerRequestContext[Any], params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in tools.values()])

    async def call_tool(ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            return _result({"error": f"no tool {params.name!r}; there are: {', '.join(tools)}"}, is_error=True)
        progress = _Progress(ctx)
        async with turns, anyio.create_task_group() as tasks:
            tasks.start_soon(progress.beat)
            made = await answer(tool, params.arguments or {}, root, progress.tell)
            tasks.cancel_scope.cancel()
        return _result(made.content, is_error=made.is_error)

    return Server(
        "kpt",
        version=VERSION,
        instructions=INSTRUCTIONS.format(root=root.folder),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _described(tool: Tool) -> types.Tool:
    import mcp_types as types

    hints = types.ToolAnnotations(
        read_only_hint=not (tool.writes or tool.runs_code), destructive_hint=tool.writes, open_world_hint=False
    )
    return types.Tool(name=tool.name, description=tool.about, input_schema=tool.schema(), annotations=hints)


def _result(content: dict[str, Any], *, is_error: bool) -> types.CallToolResult:
    import mcp_types as types

    text = types.TextContent(type="text", text=json.dumps(content, indent=1))
    return types.CallToolResult(content=[text], structured_content=content, is_error=is_error)


class _Progress:
    """Counts up with every line a verb says, and with time."""

    def __init__(self, ctx: ServerRequestContext[Any]) -> None:
        self._session = ctx.session
        self._steps = 0

    async def tell(self, line: str) -> None:
        self._steps += 1
        await self._session.report_progress(self._steps, None, line[:500])

    async def beat(self) -> None:
        import anyio

        waited = 0.0
        while True:
            await anyio.sleep(HEARTBEAT_S)
            waited += HEARTBEAT_S
            await self.tell(f"running for {waited:g} s")
