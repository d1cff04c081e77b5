"""The commands of the skills, run: an agent that follows a skill gets an answer from each of them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_skill import COMMANDS
from tests.perf.trace.test_rocprof import V3, make_rocpd

ROOT = Path(__file__).parents[2]
KPT = (sys.executable, "-m", "kernel_pytorch")
WORDS = {"PROJECT": "project", "FILE": "saxpy.hip", "CODE": "KP301", "DIR": "copy", "PATH": sys.executable}
# These are for another machine, or change the one they run on.
NOT_RUN = {
    "kpt deps PROJECT --install --yes": "installs packages",
    "kpt aiter model.py:make": "needs an AMD GPU",
    "kpt aiter model.py:make --arch gfx942 --compute-units 304": "needs aiter's tables",
}
QUICK = (
    "kpt explain CODE",
    "kpt scan PROJECT --json",
    "kpt hipify FILE",
    "kpt deps PROJECT --json",
    "kpt optimize --list",
)
# Each writes what later ones read: a benchmark's history, a golden record, a saved optimisation.
FIRST = (
    "kpt bench model.py:make --history bench.jsonl",
    "kpt bench model.py:make --history bench.jsonl",
    "kpt golden record model.py:make --out golden",
    "kpt optimize model.py:make",
)
LAST = ("kpt port PROJECT --write",)
KERNEL = """

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


def add(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), BLOCK=256)
    return out
"""
# Makes the sample's kernel a program: `kpt emulate kernels.hip` runs it.
MAIN = """
int main() {
    float *x, *y, *sum;
    hipMalloc(&x, 4096), hipMalloc(&y, 4096), hipMalloc(&sum, 4);
    hipMemset(x, 0, 4096), hipMemset(y, 0, 4096), hipMemset(sum, 0, 4);
    saxpy_sum<<<2, kThreads>>>(2.0f, x, y, sum, 1024);
    return hipDeviceSynchronize();
}
"""
LIMITS = {"bench": ["--seconds", "1"], "optimize": ["--budget", "40", "--measure", "1"], "port": ["--no-build"]}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """What a skill's reader has: a project under git, a kernel, a model, recordings."""
    shutil.copytree(ROOT / "examples" / "fused_norm", tmp_path / "project")
    for words in ("init -q -b main", "add .", "-c user.name=a -c user.email=a@example.org commit -qm first"):
        subprocess.run(["git", *words.split()], cwd=tmp_path / "project", check=True)
    for name in ("saxpy.hip", "kernels.hip"):
        shutil.copy(ROOT / "examples" / "saxpy.hip", tmp_path / name)
    with (tmp_path / "kernels.hip").open("a") as file:
        file.write(MAIN)
    shutil.copy(ROOT / "tests" / "docs" / "data" / "model.py", tmp_path / "model.py")
    with (tmp_path / "model.py").open("a") as file:
        file.write(KERNEL)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "kernels.py").write_text(KERNEL.lstrip())
    make_rocpd(tmp_path / "results.db", "_1", views=True)
    (tmp_path / "123_kernel_trace.csv").write_text(V3)
    return tmp_path


def run(command: str, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    verb, *rest = shlex.split(command)[1:]
    # What is emulated must be a whole program; a kernel is enough for the others.
    named = {**WORDS, "FILE": "project/csrc/selfcheck.cu"} if verb == "emulate" else WORDS
    words = [verb, *(named.get(word, word) for word in rest)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}
    return subprocess.run(
        [*KPT, *words, *more], cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True, capture_output=True,
        timeout=900, check=False,
    )  # fmt: skip


def complaint(command: str, folder: Path, *more: str) -> str:
    """Why a command did not do its work; empty if it did. 1 is an answer too: findings, or a slower model."""
    done = run(command, folder, *more)
    answered = (done.stdout + done.stderr).strip()  # a verb that writes files says so on standard error
    is_well = done.returncode in (0, 1) and "Traceback" not in done.stderr and answered
    return "" if is_well else f"{command}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


def whole_commands() -> list[str]:
    """Those with something behind the verb: a verb alone is its name, in a sentence."""
    return [command for command in COMMANDS if len(command.split()) > 2]


@pytest.mark.parametrize("command", QUICK)
def test_quick_commands_answer(command: str, workspace: Path) -> None:
    assert command in COMMANDS
    assert complaint(command, workspace) == ""


@pytest.mark.slow
def test_every_command_of_the_skills_answers(workspace: Path) -> None:
    commands = whole_commands()
    assert set(NOT_RUN) | set(FIRST) | set(LAST) <= set(commands)
    for name in ("before", "after"):
        assert run(f"kpt profile model.py:make --save {name}.json --trace trace.json.gz", workspace).returncode == 0
    others = [command for command in commands if command not in (*NOT_RUN, *FIRST, *LAST)]
    problems = []
    for command in (*FIRST, *others, *LAST):
        verb = command.split()[1]
        is_limited = "compare" not in command and "--list" not in command and "--budget" not in command
        problems.append(complaint(command, workspace, *(LIMITS.get(verb, []) if is_limited else [])))
    assert [problem for problem in problems if problem] == []
