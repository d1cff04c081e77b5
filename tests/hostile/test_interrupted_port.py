"""A port that is cut off: no edit of the user's is lost, nothing stays behind, nothing blocks the next try."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.port import apply

LOOP = Path(__file__).parents[2] / "benchmarks" / "kill_port.py"
SOURCE = "import torch\n\nstep = torch.compile(lambda x: x, mode='reduce-overhead')\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KPT_STATE_DIR", str(tmp_path / "state"))
    root = tmp_path / "tree"
    root.mkdir()
    for name in ("a.py", "b.py", "c.py"):
        (root / name).write_text(SOURCE)
    return root


def port_dies(root: Path, files: int) -> None:
    """A real process ports the tree and dies after it replaced that many files."""
    child = os.fork()
    if child == 0:
        replace = Path.replace
        done: list[Path] = []

        def dying(self: Path, target: Path) -> Path:
            if target.is_relative_to(root):
                if len(done) == files:
                    os._exit(9)
                done.append(target)
            return replace(self, target)

        Path.replace = dying  # type: ignore[method-assign,assignment]
        main(["port", str(root), "--write", "--no-build", "-j", "1"])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_an_edit_between_a_kill_and_the_next_write(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port_dies(tree, 1)
    hidden = [path.name for path in tree.iterdir() if path.name.startswith(".")]
    assert hidden  # staged, as it was cut off in the middle
    edited = next(name for name in ("c.py", "b.py") if "IS_ROCM" not in (tree / name).read_text())
    (tree / edited).write_text(SOURCE + "mine = 1\n")
    capsys.readouterr()
    assert main(["port", str(tree), "--write", "--no-build", "-j", "1"]) in (0, 1)
    said = capsys.readouterr().err
    assert f"edited since then and left as they are: {edited}" in said
    # The same command then ports the file as the user wrote it.
    assert "mine = 1" in (tree / edited).read_text() and "IS_ROCM" in (tree / edited).read_text()
    assert all("IS_ROCM" in (tree / name).read_text() for name in ("a.py", "b.py", "c.py"))
    assert not [path for path in tree.rglob(".*") if path.is_file()]
    assert main(["port", str(tree), "--write", "--no-build", "-j", "1"]) == 0
    assert "cut off" not in capsys.readouterr().err


def test_leftovers_without_a_journal_are_named(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The journal is gone with the home folder, say: what lies hidden in the project is shown."""
    port_dies(tree, 1)
    for journal in (tmp_path / "state").rglob("*.json"):
        journal.unlink()
    main(["scan", str(tree), "-j", "1", "--json"])
    assert "left by a kpt that was cut off while it wrote: remove it" in capsys.readouterr().out


def test_a_full_disk_does_not_block_the_retry(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "ported"
    words = ["port", str(tree), "--out", str(out), "--no-build", "-j", "1"]

    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(apply, "write_whole", full)
        assert main(words) == 2
    assert re.search(r"No space left on device.*ported was not made", capsys.readouterr().err)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tree"]
    assert main(words) in (0, 1) and "IS_ROCM" in (out / "a.py").read_text()


def test_a_real_full_disk(tree: Path, tmp_path: Path) -> None:
    """A file system of a few pages, where this user may mount one."""
    small = tmp_path / "small"
    small.mkdir()
    script = (
        f"mount -t tmpfs -o size=64k none {small} && {sys.executable} -m kernel_pytorch port {tree} "
        f"--out {small}/ported --no-build -j 1; echo status $?; ls -A {small}"
    )
    (tree / "large.bin").write_bytes(bytes(200_000))
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, check=False)
    if "status 2" not in done.stdout and ("not permitted" in done.stderr or "denied" in done.stderr):
        pytest.skip("no file system can be mounted here")
    assert "No space left on device" in done.stderr and done.stdout.split("status ")[1].split() == ["2"], done


def test_kills_at_random(tmp_path: Path) -> None:
    """The loop of benchmarks/kill_port.py, a few rounds of it."""
    done = subprocess.run(
        [sys.executable, LOOP, "--kills", "8", "--files", "12", "--seed", str(os.getpid())],
        capture_output=True, text=True, timeout=300, check=False, env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0 and "0 faults" in done.stderr, done.stderr
