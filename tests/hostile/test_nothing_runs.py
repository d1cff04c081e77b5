"""Looking at a stranger's tree runs nothing of it: no module, no build file, no program, nothing git would start."""

from __future__ import annotations

import ast
import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kernel_pytorch
from kernel_pytorch.core.git import git_output
from kernel_pytorch.core.inside import BOUND
from kernel_pytorch.core.project_code import VARIABLE, project_code_forbidden
from kernel_pytorch.core.python_child import child_environment, python_code, python_module
from kernel_pytorch.verify.levels import RUNS_PROJECT_CODE
from tests.hostile.traps import Traps, kpt, set_traps

SOURCES = Path(kernel_pytorch.__file__).parent
READ_ONLY = (
    ("scan", "."),
    ("scan", ".", "--sarif"),
    ("scan", ".", "-j", "2"),
    ("port", ".", "--no-run", "--arch", "gfx942"),
    ("port", ".", "--no-run", "--layout", "torch-extension", "--json"),
    ("port", ".", "--no-build"),
    ("hipify", "k.cu"),
    ("hipify", ".", "--examine"),
    ("deps", ".", "--json"),
    ("doctor", "--json"),
    ("explain", "KP601", "U100"),
    ("build", "k.cu", "--arch", "gfx942"),
    ("verify", ".", "--isolation", "--base", "HEAD~1"),
    ("verify", ".", "--no-run", "--base", "HEAD~1", "--arch", "gfx942", "--json"),
)


@pytest.fixture(scope="module")
def traps(tmp_path_factory: pytest.TempPathFactory) -> Traps:
    return set_traps(tmp_path_factory.mktemp("hostile"))


def test_the_traps_work(tmp_path: Path) -> None:
    """Each kind fires when it is run, or the other tests would pass for nothing."""
    own = set_traps(tmp_path)
    subprocess.run(["git", "status"], cwd=own.root, capture_output=True, check=False)
    subprocess.run([sys.executable, "-c", "import json"], cwd=own.root, check=True)
    subprocess.run(["make", "-n"], cwd=own.root, capture_output=True, check=False)
    assert {"fsmonitor", "json.py", "make"} <= set(own.names())


@pytest.mark.parametrize("words", READ_ONLY, ids=" ".join)
def test_a_read_only_verb_fires_no_trap(words: tuple[str, ...], traps: Traps) -> None:
    done = subprocess.run([*kpt(), *words], cwd=traps.root, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert traps.names() == []


def test_outside_git_as_well(tmp_path: Path) -> None:
    own = set_traps(tmp_path, git=False)
    for words in (("scan", "."), ("verify", ".", "--no-run", "--level", "static,build", "--arch", "gfx942")):
        done = subprocess.run([*kpt(), *words], cwd=own.root, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
    assert own.names() == []


def test_the_read_only_server_fires_no_trap(traps: Traps, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jsonschema")
    from kernel_pytorch.cli.mcp_server.calls import answer
    from kernel_pytorch.cli.mcp_server.rooted import Root
    from kernel_pytorch.cli.mcp_server.tools import offered

    tools = offered(no_run=True, read_only=True)
    calls: dict[str, dict[str, Any]] = {
        "scan": {"path": "."},
        "deps": {"path": "."},
        "port": {"path": "."},
        "hipify": {"files": ["k.cu"]},
        "build": {"files": ["k.cu"], "arch": ["gfx942"]},
        "verify": {"path": ".", "level": ["isolation", "static", "build"], "arch": ["gfx942"]},
        "explain": {"codes": ["KP601"]},
        "doctor": {},
    }
    assert set(calls) == set(tools), "a tool that a read-only server offers is called here"
    monkeypatch.chdir(traps.root)

    async def quiet(line: str) -> None:
        return

    with project_code_forbidden():
        for name, arguments in calls.items():
            got = asyncio.run(answer(tools[name], arguments, Root.at(traps.root), quiet))
            assert not got.is_error, got.content
        refused = asyncio.run(answer(tools["build"], {"files": ["kernels.py::add"]}, Root.at(traps.root), quiet))
    assert refused.is_error
    assert traps.names() == []


@pytest.mark.parametrize(
    "words",
    [
        ("bench", "model.py:f"),
        ("profile", "model.py:f"),
        ("inspect", "model.py:f", "--arch", "gfx942"),
        ("inspect", ".", "--triton", "--arch", "gfx942"),
        ("optimize", "model.py:f"),
        ("emulate", "k.cu", "--gpu", "mi300x"),
        ("golden", "record", "model.py:f", "--out", "golden"),
        ("build", "kernels.py::add", "--signature", "*fp32,i32", "--constexpr", "BLOCK=64"),
    ],
    ids=" ".join,
)
def test_with_the_variable_nothing_of_the_project_runs(words: tuple[str, ...], traps: Traps) -> None:
    """What `kpt mcp --no-run` sets for its calls holds for every verb, whatever a client found a way to ask for."""
    environment = {**os.environ, VARIABLE: "1"}
    done = subprocess.run(
        [*kpt(), *words], cwd=traps.root, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "forbids" in done.stderr
    assert traps.names() == []


def test_a_level_that_runs_code_is_reported_as_not_run(traps: Traps) -> None:
    import json

    words = ("verify", ".", "--no-run", "--arch", "gfx942", "--json")
    done = subprocess.run([*kpt(), *words], cwd=traps.root, capture_output=True, text=True, check=False)
    levels = {level["level"]: level for level in json.loads(done.stdout)["levels"]}
    for name in RUNS_PROJECT_CODE:
        assert levels[name]["status"] == "not_run" and "--no-run" in levels[name]["needs"]
    (triton,) = (check for check in levels["build"]["checks"] if check["check"] == "Triton kernels")
    assert triton["status"] == "not_run" and "imports the project's modules" in triton["detail"]


def test_the_install_level_runs_setup_py_and_takes_no_module_from_the_tree(traps: Traps) -> None:
    pytest.importorskip("torch")
    words = ("verify", ".", "--level", "install", "--arch", "gfx942")
    subprocess.run([*kpt(), *words], cwd=traps.root, capture_output=True, text=True, check=False)
    assert set(traps.names()) - {"cmake"} == {"setup.py"}, "cmake is configured where it is installed"


def test_a_child_does_not_import_from_where_it_starts(tmp_path: Path) -> None:
    for name in ("json", "runpy", "site", "kernel_pytorch", "colorsys"):
        (tmp_path / f"{name}.py").write_text(f"open('FIRED', 'a').write('{name}')\nprint('theirs')\n")
    env = child_environment({**os.environ, "PYTHONPATH": ""})
    show = python_code("import json, colorsys; print(json.__file__)", isolated=False)
    for command in (python_module("kernel_pytorch", "--version"), python_module("json.tool", "--help"), show):
        subprocess.run(command, cwd=tmp_path, env=env, check=True, capture_output=True)
    assert not (tmp_path / "FIRED").exists()


def test_what_the_user_put_on_the_path_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "of_the_user.py").write_text("VALUE = 7\n")
    environment = child_environment({**os.environ, "PYTHONPATH": os.pathsep.join(("", "lib", ""))})
    assert environment["PYTHONPATH"] == str(tmp_path / "lib")
    (tmp_path / "elsewhere").mkdir()
    command = python_code("import of_the_user; print(of_the_user.VALUE)")
    done = subprocess.run(
        command, cwd=tmp_path / "elsewhere", env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "7"
    assert "PYTHONPATH" not in child_environment({"PYTHONPATH": ""})


def test_every_python_child_is_made_in_one_place() -> None:
    """No other module spells out the command line of a Python process, or of git."""
    bad = []
    for path in SOURCES.rglob("*.py"):
        if path.name in ("python_child.py", "git.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.List, ast.Tuple)):
                texts = [item.value for item in node.elts if isinstance(item, ast.Constant)]
                runs_python = any(ast.unparse(item) == "sys.executable" for item in node.elts)
                is_flagged = {"-m", "-c"} & set(texts) and runs_python
                if is_flagged or (texts[:1] == ["git"] and len(node.elts) > 1):
                    bad.append(f"{path.relative_to(SOURCES)}:{node.lineno}")
    assert bad == []


def test_a_repository_that_points_at_another_is_not_read(tmp_path: Path) -> None:
    own = set_traps(tmp_path)
    for name, make in (
        ("by-file", lambda folder: (folder / ".git").write_text(f"gitdir: {own.root / '.git'}\n")),
        ("by-link", lambda folder: (folder / ".git").symlink_to(own.root / ".git")),
    ):
        other = tmp_path / name
        other.mkdir()
        make(other)
        assert git_output(other, "ls-files") is None
    assert git_output(own.root, "ls-files")


def test_the_calls_of_a_server_know_its_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler's message about a file outside the server's root is not given back."""
    (tmp_path / "secret.h").write_text('#define SECRET "the secret"\n')
    (tmp_path / "project").mkdir()
    source = tmp_path / "project" / "k.hip"
    source.write_text('#include "../secret.h"\n__global__ void k(int *x) { *x = 1; }\nstatic_assert(0, SECRET);\n')
    environment = {**os.environ, BOUND: str(tmp_path / "project")}
    command = [*kpt(), "build", str(source), "--arch", "gfx942"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "outside the project" in done.stderr
    assert "the secret" not in done.stdout + done.stderr
