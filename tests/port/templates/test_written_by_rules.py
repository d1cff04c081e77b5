"""The files that KP544 and KP701 write (with --unsafe): the port is isolated, runs, and catches what it is for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.port.project import PortOptions, port_plain_file
from kernel_pytorch.port.source import source_file
from kernel_pytorch.port.templates import placed
from kernel_pytorch.verify.isolation import Isolation, compare_file

PRODUCT = b"""\
import torch


def linear(x, w, sx, sw):
    out = torch._scaled_mm(x, w.t(), scale_a=sx, scale_b=sw, out_dtype=torch.bfloat16)
    return out
"""
CAPTURE = b"""\
import torch


def capture(model, x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(
            x,
            scale=2,
        )
    return graph, out
"""
STAND_IN = "import torch; torch.version.hip = '7.2'; import program\n"


def ported(tmp_path: Path, source: bytes, code: str) -> bytes:
    (tmp_path / "program.py").write_bytes(source)
    options = PortOptions(select=(code,), unsafe=True)
    patch = port_plain_file(source_file("program.py", source), options).patch
    assert patch is not None
    files = placed(tmp_path, [patch])
    for item in files:
        (tmp_path / item.path).write_bytes(item.after)
    after = next(item.after for item in files if item.path == "program.py")
    assert compare_file("program.py", source, after).verdict is Isolation.PROVEN
    again = port_plain_file(source_file("program.py", after), options)
    assert again.patch is None, "a second run changes nothing"
    return after


def run(tmp_path: Path, code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", STAND_IN + code]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)


def test_a_refused_product_falls_back(tmp_path: Path) -> None:
    after = ported(tmp_path, PRODUCT, "KP544")
    assert b"(scaled_mm if IS_ROCM else torch._scaled_mm)(x, w.t(), scale_a=sx" in after
    done = run(
        tmp_path,
        "def refuse(*_, **__): raise RuntimeError('HIPBLAS_STATUS_NOT_SUPPORTED')\n"
        "torch._scaled_mm = refuse\n"
        "x, w = torch.randn(16, 32).to(torch.float8_e4m3fn), torch.randn(8, 32).to(torch.float8_e4m3fn)\n"
        "one = torch.tensor(0.5)\n"
        "got = program.linear(x, w, one, one)\n"
        "torch.testing.assert_close(got.float(), x.float() @ w.float().t() / 4, rtol=2e-2, atol=2e-2)\n",
    )
    assert done.returncode == 0, done.stderr
    assert "dequantised from here on" in done.stderr


@pytest.mark.parametrize(
    "call",
    [
        b"out, amax = torch._scaled_mm(a, b, scale_a=s, scale_b=s)",  # torch 2.4's pair
        b"out = torch._scaled_mm(a, b, out_dtype=torch.bfloat16)",  # no scales: torch 2.4
        b"out = torch._scaled_mm(*pair, scale_a=s, scale_b=s)",
        b"out = torch._scaled_mm(a, b, scale_a=s, scale_b=s, **more)",
        b"scaled_mm = 1; out = torch._scaled_mm(a, b, scale_a=s, scale_b=s)",
    ],
)
def test_other_calls_are_left_to_a_person(call: bytes) -> None:
    source = b"import torch\n\n\ndef f(a, b, s, pair, more):\n    " + call + b"\n"
    result = port_plain_file(source_file("x.py", source), PortOptions(select=("KP544",), unsafe=True))
    assert result.patch is None and [finding.code for finding in result.findings] == ["KP544"]


@pytest.mark.parametrize("faithful", [True, False])
def test_a_replay_is_compared_with_the_call(tmp_path: Path, faithful: bool) -> None:
    after = ported(tmp_path, CAPTURE, "KP701")
    assert b"check_replay(graph, lambda: model(" in after
    done = run(
        tmp_path,
        "import contextlib\n"
        "x = torch.randn(4, 8)\n"
        "model = lambda x, scale: torch.mul(x, scale)\n"
        "class Graph:\n"
        f"    def replay(self): results[0].copy_(model(x, 2)) if {faithful} else None\n"
        "torch.cuda.CUDAGraph = Graph\n"
        "torch.cuda.graph = lambda graph: contextlib.nullcontext()\n"
        "results = []\n"
        "def recorded(x, scale):\n"
        "    results.append(model(x, scale))\n"
        "    return results[-1]\n"
        "program.capture(recorded, x)\n",
    )
    assert (done.returncode == 0) is faithful, done.stderr
    assert faithful or "Tensor-likes are not close" in done.stderr


@pytest.mark.parametrize(("name", "file"), [("fp8", "_rocm_fp8.py"), ("graph-check", "_rocm_graph_check.py")])
def test_add_writes_the_file_into_the_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, file: str
) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    assert main(["port", str(tmp_path), "--add", name, "--write", "--no-build", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["written"] == [f"pkg/{file}"]
    assert (tmp_path / "pkg" / file).is_file()
    assert main(["port", str(tmp_path), "--add", name, "--write", "--no-build", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["written"] == []
