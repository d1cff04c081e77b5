"""A crash, a full disk and a closed pipe never look like findings; one bad file is a finding, not the end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_pytorch.cli import main as command
from kernel_pytorch.cli.main import main
from kernel_pytorch.core.pages import page
from kernel_pytorch.port import project as port_project
from kernel_pytorch.port.hipify import file as hipify
from kernel_pytorch.port.rules import rules_for
from tests.hostile.traps import kpt

SAMPLE = Path(__file__).parents[2] / "examples" / "fused_norm"
VERBS = (
    ("--help",),
    ("scan", "--help"),
    ("scan", str(SAMPLE)),
    ("scan", str(SAMPLE), "--json"),
    ("scan", str(SAMPLE), "--sarif"),
    ("port", str(SAMPLE), "--no-build"),
    ("port", str(SAMPLE), "--no-build", "--json"),
    ("hipify", str(SAMPLE / "csrc" / "rmsnorm_kernel.cuh")),
    ("hipify", str(SAMPLE), "--examine"),
    ("deps", str(SAMPLE)),
    ("verify", str(SAMPLE), "--level", "static"),
    ("explain",),
    ("doctor", "--quick"),
    ("doctor", "--quick", "--json"),
    ("mcp", "--list"),
)


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
@pytest.mark.parametrize("buffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_full_disk_is_said(words: tuple[str, ...], buffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": buffered}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*kpt(), *words], stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False
        )
    assert done.returncode == 74
    assert done.stderr.splitlines()[-1].startswith("kpt: the output could not be written (No space left")
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_a_closed_pipe_is_no_result(words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*kpt(), *words], stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


def test_output_that_nobody_can_get() -> None:
    line = f"{kpt()[0]} scan {SAMPLE} >&-"
    done = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 74 and "standard output is closed" in done.stderr
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*kpt(), "scan", str(SAMPLE)], stdout=subprocess.DEVNULL, stderr=full, check=False)
    assert done.returncode == 74


def test_a_fault_of_ours_exits_70(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(arguments: list[str]) -> int:
        raise KeyError("of ours")

    monkeypatch.setattr(command, "_run", broken)
    monkeypatch.delenv("KPT_TRACEBACK", raising=False)
    assert main(["scan", "."]) == 70
    (line,) = capsys.readouterr().err.splitlines()
    assert "internal error: KeyError" in line and "--traceback" in line and "report" in line
    assert main(["--traceback", "scan", "."]) == 70
    assert "Traceback (most recent call last)" in capsys.readouterr().err
    monkeypatch.setenv("KPT_TRACEBACK", "1")
    assert main(["scan", "."]) == 70
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("problem", [MemoryError(), RecursionError(), OSError(9999, "?"), UnicodeError("x")])
def test_no_exception_gets_out(problem: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(arguments: list[str]) -> int:
        raise problem

    monkeypatch.setattr(command, "_run", broken)
    assert main(["scan", "."]) == 70


BAD_FILES = {
    "deep.py": "x = " + "(" * 900 + ")" * 900 + "\n",
    "deeper.py": "import torch\nx = " + "-" * 30_000 + "1\n",
    "chain.py": "import torch\nx = " + "a." * 30_000 + "b\n",
    "sum.py": "import torch\nx = " + "1 + " * 20_000 + "1\n",
    "nul.py": "x = 1\0\n",
    "n.ipynb": '{"cells": ' + "[" * 20_000,
    "deep.cu": "__global__ void k() { int x = " + "(" * 5_000 + "1" + ")" * 5_000 + "; }\n",
    "CMakeLists.txt": "project(x LANGUAGES CUDA)\n" + "if(A)\n" * 3_000,
    "huge.cu": "#define N " + "9" * 6_000 + "\n__global__ void k() { int x = threadIdx.x / N; }\n",
    "Makefile": "X = " + "$(call f," * 3_000 + "\nall:\n\tnvcc a.cu\n",
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_one_bad_file_is_not_the_end(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_text(BAD_FILES[name])
    (tmp_path / "good.py").write_text('import torch\nm = torch.compile(f, mode="reduce-overhead")\n')
    assert main(["scan", str(tmp_path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert ("KP601", "good.py") in {(one["code"], one["path"]) for one in found}
    assert not [one for one in found if "fault of kpt" in one["message"]]
    for words in (("port", "--no-build"), ("verify", "--level", "static"), ("deps",)):
        assert main([words[0], str(tmp_path), *words[1:]]) in (0, 1)


@pytest.mark.parametrize("name", ["deep.py", "deeper.py", "nul.py", "n.ipynb"])
def test_a_file_that_cannot_be_handled_is_a_finding(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(BAD_FILES[name])
    assert main(["scan", str(tmp_path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {one["code"] for one in found} <= {"KP001", "KP002", "KP005"} and found


@pytest.mark.parametrize("problem", [TypeError("ours"), MemoryError(), RecursionError(), UnicodeError("x")])
@pytest.mark.parametrize("name", ["a.py", "a.cu"])
def test_whatever_a_file_raises_is_said_at_that_file(
    name: str, problem: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text("import torch\n" if name == "a.py" else "__global__ void k() {}\n")
    (tmp_path / "b.py").write_text('import torch\nm = torch.compile(f, mode="reduce-overhead")\n')

    def broken(*arguments: object, **more: object) -> object:
        raise problem

    if name == "a.cu":
        monkeypatch.setattr(hipify, "hipify_file", broken)
    else:
        monkeypatch.setattr(port_project, "python_module", broken)
    assert main(["scan", str(tmp_path), "--json", "-j", "1"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert name in {one["path"] for one in found if one["code"] in ("KP002", "KP005")}
    assert page("KP005") is not None


def test_a_rule_that_fails_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = next(one for one in rules_for("python") if one.rule.code == "KP540")

    def broken(self: object, src: object, unit: object) -> object:
        if self is loaded:
            raise KeyError("ours")
        return original(self, src, unit)

    original = type(loaded).run_concerned
    monkeypatch.setattr(type(loaded), "run_concerned", broken)
    (tmp_path / "b.py").write_text('import torch  # allow_tf32\nm = torch.compile(f, mode="reduce-overhead")\n')
    assert main(["scan", str(tmp_path), "--json", "-j", "1"]) == 1
    codes = [one["code"] for one in json.loads(capsys.readouterr().out)["findings"]]
    assert codes == ["KP002", "KP601"]


def test_a_process_that_dies_is_said_at_its_file(tmp_path: Path) -> None:
    """In a process of its own: the one that dies is killed by a signal, as by the kernel for want of memory."""
    for number in range(130):
        (tmp_path / f"m{number:03}.py").write_text("import torch\n")
    (tmp_path / "m007.py").write_text("import torch  # deadly\n")
    script = (
        "import os, sys\n"
        "from kernel_pytorch.port import project\n"
        "was = project.port_plain_file\n"
        "def deadly(src, options):\n"
        "    os.kill(os.getpid(), 9) if b'deadly' in src.data else None\n"
        "    return was(src, options)\n"
        "project.port_plain_file = deadly\n"
        "from kernel_pytorch.cli.main import main\n"
        "sys.exit(main(['scan', sys.argv[1], '--json', '-j', '2']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)["findings"]
    assert [(one["code"], one["path"]) for one in found] == [("KP005", "m007.py")]
