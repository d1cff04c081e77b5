"""Named pipes, devices, links out of the tree and huge files under every name that a verb reads: refused at once.

A hang is what a test here would see as the end of its patience.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_pytorch.core.read_file import MAX_BYTES
from kernel_pytorch.port.discover import discover
from kernel_pytorch.port.source import language_of

PATIENCE_S = 60
NAMES = (
    "requirements.txt", "pyproject.toml", "setup.py", "setup.cfg", "environment.yml", "Pipfile", "a.cu", "a.cuh", "a.h",
    "CMakeLists.txt", "Makefile", "Dockerfile", "run.sh", "README.md", "book.ipynb", "package/__init__.py", "tool.py",
    ".github/workflows/ci.yml", ".gitmodules", "compile_commands.json",
)  # fmt: skip

HUGE = ("requirements.txt", "a.cu")  # each is copied by a verb that makes a copy of the tree


def pipe(path: Path, elsewhere: Path) -> None:
    os.mkfifo(path)


def device(path: Path, elsewhere: Path) -> None:
    path.symlink_to("/dev/zero")


def outside(path: Path, elsewhere: Path) -> None:
    path.symlink_to(elsewhere)


def huge(path: Path, elsewhere: Path) -> None:
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)


def nothing(path: Path, elsewhere: Path) -> None:
    path.symlink_to("not-there")


REASONS = {
    pipe: "a named pipe, not a plain file",
    device: "a link that leads out of the project",
    outside: "a link that leads out of the project",
    huge: "larger than 50 MB",
    nothing: "a link to nothing",
}


@pytest.fixture(params=REASONS, ids=lambda make: make.__name__)
def make(request: pytest.FixtureRequest) -> Callable[[Path, Path], None]:
    chosen: Callable[[Path, Path], None] = request.param
    return chosen


@pytest.fixture
def tree(tmp_path: Path, make: Callable[[Path, Path], None]) -> Path:
    """A project with one good file; all others are not what their names say."""
    secret = tmp_path / "secret"
    secret.write_text("secret-package==1.0\n")
    root = tmp_path / "tree"
    for name in NAMES if make is not huge else HUGE:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        make(root / name, secret)
    (root / "good.cu").write_text("#include <cuda_runtime.h>\nvoid f() { cudaDeviceSynchronize(); }\n")
    return root


def kpt(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kernel_pytorch", *words], cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip


def test_discover_gives_the_reason(tree: Path, make: Callable[[Path, Path], None]) -> None:
    project = discover(tree)
    assert project.of("cuda") == ("good.cu",) and project.count == 1
    reasons = {item.path: item.reason for item in project.unread}
    sources = [name for name in (HUGE if make is huge else NAMES) if language_of(name) != "other"]
    assert sources and {name: reasons.get(name) for name in sources} == dict.fromkeys(sources, REASONS[make])


@pytest.mark.parametrize(
    "words",
    [
        ("scan", ".", "-j", "1"),
        ("deps", "."),
        ("port", ".", "--no-build", "-j", "1"),
        ("port", ".", "--no-build", "--layout", "copy", "-j", "1", "--out", "../ported"),
        ("verify", ".", "--level", "static"),
        ("hipify", ".", "-o", "../hipified"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_every_verb_goes_on(tree: Path, words: tuple[str, ...]) -> None:
    done = kpt(*words, cwd=tree)
    # A list of dependencies that is not read makes an answer that cannot be relied on: exit 2.
    assert done.returncode == 2 if words[0] == "deps" else done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr and "secret-package" not in done.stdout + done.stderr
    if words[0] == "deps":
        assert "requirements.txt" in done.stderr  # with the reason, not in silence


def test_a_link_inside_the_tree_is_followed(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    (root / "lists").mkdir(parents=True)
    (root / "lists/all.txt").write_text("torch==2.5\n")
    (root / "requirements.txt").symlink_to("lists/all.txt")
    (root / "pyproject.toml").write_text('[tool.kernel_pytorch]\nignore = ["KP2"]\n')
    assert "torch" in kpt("deps", ".", cwd=root).stdout
    assert discover(root).skipped == ()


@pytest.mark.parametrize(
    "words",
    [
        ("scan", "it.cu"),
        ("hipify", "it.cu"),
        ("build", "it.hip"),
        ("emulate", "it.hip"),
        ("profile", "it.json"),
        ("profile", "folder"),
        ("scan", ".", "--rules", "it.yaml"),
        ("bench", "compare", "it.json", "it.json"),
        ("golden", "check", "m.py:f", "folder"),
    ],
    ids=" ".join,
)
def test_a_pipe_that_is_named_itself(tmp_path: Path, words: tuple[str, ...]) -> None:
    """The user named it, or a tree made them: an error that names it, and no hang."""
    (tmp_path / "folder").mkdir()
    for name in ("it.cu", "it.hip", "it.json", "it.yaml", "folder/kernel_trace.csv", "folder/record.json"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "m.py").write_text("")
    done = kpt(*words, cwd=tmp_path)
    assert done.returncode == 2 and "Traceback" not in done.stderr, (done.returncode, done.stdout, done.stderr)
    assert any(name in done.stderr for name in ("it.", "kernel_trace.csv", "record.json", "folder")), done.stderr
