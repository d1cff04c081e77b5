"""`kpt mcp` with the SDK's own client over stdio: what it offers, what it answers, what it refuses."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.cli.main import main, parser_for, verb_summaries
from kernel_pytorch.cli.mcp_server.guessed import as_the_tool_has_them
from kernel_pytorch.cli.mcp_server.rooted import Root
from kernel_pytorch.cli.mcp_server.shorten import TEXT_LIMIT, shorten
from kernel_pytorch.cli.mcp_server.tools import TOOLS, Tool, offered
from kernel_pytorch.core.errors import UsageError

mcp = pytest.importorskip("mcp", reason='pip install "kernel-pytorch[mcp]"')

SAMPLE = Path(__file__).parents[2] / "examples" / "fused_norm"
KERNEL = """\
__global__ void reverse(float *x, int n) {
  int i = threadIdx.x;
  if (i < n) x[i] = __shfl_sync(0xffffffff, x[i], 31 - (i & 31));
}
"""


@dataclass
class Talk:
    """One conversation with a server."""

    session: Any
    progress: list[str] = field(default_factory=list)

    async def call(self, name: str, **arguments: Any) -> Any:
        async def note(done: float, total: float | None, message: str | None) -> None:
            self.progress.append(message or "")

        return await self.session.call_tool(name, arguments, progress_callback=note)


def converse(root: Path, what: Callable[[Talk], Awaitable[None]], *options: str) -> None:
    """Starts a server as a client would and runs `what` against it."""

    async def run() -> None:
        words = ["-m", "kernel_pytorch", "mcp", "--root", str(root), *options]
        server = mcp.StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ), cwd=root)
        async with AsyncExitStack() as stack:
            reader, writer = await stack.enter_async_context(mcp.stdio_client(server))
            session = await stack.enter_async_context(mcp.ClientSession(reader, writer))
            await session.initialize()
            await asyncio.wait_for(what(Talk(session)), 240)

    asyncio.run(run())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    shutil.copytree(SAMPLE, root / "fused_norm")
    (root / "reverse.cu").write_text(KERNEL)
    return root


def test_tools_scan_port_and_explain(project: Path) -> None:
    async def what(talk: Talk) -> None:
        listed = await talk.session.list_tools()
        assert {tool.name for tool in listed.tools} == {tool.name for tool in TOOLS}
        for tool in listed.tools:
            assert tool.input_schema["type"] == "object"
            assert tool.description

        scan = await talk.call("scan", path="fused_norm", select=["KP3", "KP601"])
        assert not scan.is_error
        told = scan.structured_content
        assert json.loads(scan.content[0].text) == told
        assert (told["exit_status"], told["verdict"]) == (1, "findings")
        codes = {finding["code"] for finding in told["result"]["findings"]}
        assert "KP601" in codes
        assert all(code.startswith(("KP3", "KP601")) for code in codes)

        cut = (await talk.call("scan", path="fused_norm", limit=2)).structured_content
        assert len(cut["result"]["findings"]) == 2
        assert "entries" in cut["left_out"]["result.findings"]

        before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
        port = (await talk.call("port", path="fused_norm", no_build=True)).structured_content
        assert port["result"]["written"] == []
        assert "+++ b/fused_norm/model.py" in port["diff"]
        assert any("files to write" in line for line in talk.progress)
        assert before == {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}

        written = (await talk.call("port", path="fused_norm", no_build=True, write=True)).structured_content
        assert "fused_norm/model.py" in written["result"]["written"]
        assert "IS_ROCM" in (project / "fused_norm/fused_norm/model.py").read_text()

        page = (await talk.call("explain", codes=["kp303"])).structured_content["result"]
        assert page[0]["code"] == "KP303"

    converse(project, what)


@pytest.mark.parametrize(
    ("tool", "given", "meant"),
    [
        ("explain", {"code": "KP301"}, {"codes": ["KP301"]}),
        ("scan", {"project": "a", "select": "KP3, KP601"}, {"path": "a", "select": ["KP3", "KP601"]}),
        ("hipify", {"file": "a.cu", "output": "b"}, {"files": ["a.cu"], "out": "b"}),
        ("build", {"path": "a.cu", "arch": "gfx942,gfx1100"}, {"files": ["a.cu"], "arch": ["gfx942", "gfx1100"]}),
        ("emulate", {"program": "a.cu", "device": "mi300x", "args": ["1"]},
         {"files": ["a.cu"], "gpu": "mi300x", "program_arguments": ["1"]}),
        ("bench", {"target": "m.py:f", "timeout": 9}, {"targets": ["m.py:f"], "timeout_s": 9}),
        ("profile", {"trace": "t.json"}, {"target": "t.json"}),
        ("optimize", {"model": "m.py:f", "level": "2"}, {"target": "m.py:f", "levels": "2"}),
    ],
)  # fmt: skip
def test_names_that_clients_guess_are_understood(tool: str, given: dict[str, Any], meant: dict[str, Any]) -> None:
    assert as_the_tool_has_them(offered()[tool], given) == meant


def test_a_guess_never_brings_back_what_a_server_leaves_out() -> None:
    tools = offered(read_only=True)
    with pytest.raises(UsageError, match="hipify has no argument 'output'"):
        as_the_tool_has_them(tools["hipify"], {"files": ["a.cu"], "output": "b"})
    with pytest.raises(UsageError, match="no argument 'file'"):  # taken already: which one is meant is not plain
        as_the_tool_has_them(tools["hipify"], {"files": ["a.cu"], "file": "b.cu"})


def test_errors_are_answers_and_the_server_goes_on(project: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("import pynvml\n")
    (project / "out").symlink_to(tmp_path)
    hostile = ("..", "../secret.py", "fused_norm/../../secret.py", str(tmp_path / "secret.py"), "out/secret.py", "/etc")

    async def what(talk: Talk) -> None:
        for path in hostile:
            refused = await talk.call("scan", path=path)
            assert refused.is_error, path
            assert "outside" in refused.structured_content["error"]
        for name, arguments, words in (
            ("scan", {}, "'path' is a required property"),
            ("scan", {"path": "fused_norm", "rm": "-rf"}, "scan has no argument 'rm'; there are: path,"),
            ("scan", {"path": "a\0b"}, "not a path"),
            ("scan", {"path": "missing"}, "no such file or folder"),
            ("scan", {"path": "fused_norm", "select": ["--write"]}, "does not match"),
            ("port", {"path": "fused_norm", "out": "../copy"}, "outside"),
            ("bench", {"targets": ["os:abort"]}, "file.py:function"),
            ("bench", {"targets": ["../secret.py:f"]}, "outside"),
            ("verify", {"path": "fused_norm", "base": "--upload-pack=x y"}, "does not match"),
            ("explain", {"codes": ["KP999"]}, "no page for"),
            ("frobnicate", {}, "no tool 'frobnicate'"),
        ):
            answer = await talk.call(name, **arguments)
            assert answer.is_error, (name, arguments)
            assert words in answer.structured_content["error"], answer.structured_content
        fine = await talk.call("explain", code="KP301")  # as a client guesses
        assert not fine.is_error

    converse(project, what)


def test_a_call_that_takes_too_long_is_stopped(project: Path) -> None:
    (project / "slow.py").write_text("import time\ntime.sleep(600)\n")

    async def what(talk: Talk) -> None:
        slow = await talk.call("profile", subject="slow.py:f", timeout_s=4)
        assert slow.is_error
        assert "stopped after 4 s" in slow.structured_content["error"]
        assert any(line.startswith("running for") for line in talk.progress)

    converse(project, what)


def test_a_cancelled_call_ends_its_process_and_not_the_server(project: Path) -> None:
    import anyio

    (project / "slow.py").write_text(
        "import os, pathlib, time\npathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep(600)\n"
    )

    async def what(talk: Talk) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: talk.call("profile", subject="slow.py:f"))
            for _ in range(600):
                if (project / "pid").exists():
                    break
                await anyio.sleep(0.1)
            tasks.cancel_scope.cancel()
        assert not (await talk.call("explain", codes=["KP301"])).is_error

    converse(project, what)
    with pytest.raises(ProcessLookupError):
        _gone(int((project / "pid").read_text()))


def _gone(pid: int) -> None:
    for _ in range(100):
        os.kill(pid, 0)
        time.sleep(0.05)


def test_a_module_of_the_project_does_not_stand_in_for_ours(project: Path) -> None:
    (project / "json.py").write_text("raise SystemExit('hijacked')\n")
    (project / "kernel_pytorch").mkdir()
    (project / "kernel_pytorch/__init__.py").write_text("raise SystemExit('hijacked')\n")

    async def what(talk: Talk) -> None:
        assert not (await talk.call("scan", path="fused_norm")).is_error

    async def run() -> None:
        # The server itself is started elsewhere, as by a client that only knows the root.
        words = ["-m", "kernel_pytorch", "mcp", "--root", str(project)]
        server = mcp.StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ), cwd=SAMPLE)
        async with mcp.stdio_client(server) as (reader, writer), mcp.ClientSession(reader, writer) as session:
            await session.initialize()
            await what(Talk(session))

    asyncio.run(run())


def test_hipify_gives_the_text_and_build_the_registers(project: Path) -> None:
    async def what(talk: Talk) -> None:
        hip = (await talk.call("hipify", files=["reverse.cu"])).structured_content
        assert "hip/hip_runtime.h" in hip["source"]
        assert hip["result"]["totals"]
        assert sorted(path.name for path in project.iterdir()) == ["fused_norm", "reverse.cu"]
        built = (await talk.call("build", files=["reverse.cu"], arch=["gfx942"])).structured_content
        assert built["exit_status"] == 0, built
        assert "gfx942" in json.dumps(built["result"])

    converse(project, what)


@pytest.mark.slow
def test_emulate_and_verify(project: Path) -> None:
    async def what(talk: Talk) -> None:
        check = "fused_norm/csrc/selfcheck.cu"
        wrong = await talk.call("emulate", files=[check], untranslated=True, compare=["rx7900xtx", "mi300x"])
        assert wrong.structured_content["exit_status"] == 1
        right = await talk.call("emulate", files=[check], compare=["rx7900xtx", "mi300x"])
        assert right.structured_content["exit_status"] == 0
        levels = await talk.call("verify", path="fused_norm", level=["static", "build"], arch=["gfx942"])
        assert {one["level"] for one in levels.structured_content["result"]["levels"]} >= {"static", "build"}

    converse(project, what)


def test_no_run_and_read_only_take_tools_and_arguments_away() -> None:
    careful = offered(no_run=True, read_only=True)
    assert careful.keys() == {"scan", "deps", "port", "hipify", "build", "explain", "doctor", "verify"}
    assert not any(argument.writes for tool in careful.values() for argument in tool.arguments)
    assert "run" not in json.dumps(careful["verify"].schema()["properties"]["level"])
    assert "write" not in careful["port"].schema()["properties"]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_argument_is_one_that_the_verb_takes(tool: Tool) -> None:
    assert tool.name in verb_summaries()
    known = {option for action in parser_for(tool.name)._actions for option in action.option_strings}
    assert "--json" in known
    assert {argument.option for argument in tool.arguments if argument.option} <= known


def test_the_root(tmp_path: Path) -> None:
    root = Root.at(tmp_path)
    assert root.inside("a/../b") == tmp_path.resolve() / "b"
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(UsageError):
        root.inside("../" + tmp_path.name + "x")
    with pytest.raises(UsageError, match="no such folder"):
        Root.at(tmp_path / "missing")


def test_shorten_says_what_it_cut() -> None:
    short, left_out = shorten({"a": [1, 2, 3], "b": {"c": "x" * (TEXT_LIMIT + 1)}}, limit=2)
    assert short["a"] == [1, 2]
    assert left_out == {"a": "1 of 3 entries", "b.c": f"1 of {TEXT_LIMIT + 1} characters"}


def test_list_needs_no_sdk(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--list", "--no-run"]) == 0
    listing = json.loads(capsys.readouterr().out)
    assert "emulate" not in {tool["name"] for tool in listing}


def test_without_the_sdk_the_command_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from importlib import metadata

    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert main(["mcp"]) == 2
    assert 'pip install "mcp>=2"' in capsys.readouterr().err
    monkeypatch.setattr(metadata, "version", lambda name: "1.27.0")
    assert main(["mcp"]) == 2
    assert "too old" in capsys.readouterr().err
