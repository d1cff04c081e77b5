from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Patch
from kernel_pytorch.port import apply
from kernel_pytorch.port.apply import JOURNAL, apply_patches, finish_interrupted


def content(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_changes_and_new_files(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"old\r\n")
    (tmp_path / "a.py").chmod(0o755)
    apply_patches(tmp_path, [Patch("a.py", b"old\r\n", b"new\r\n"), Patch("sub/b.txt", None, b"b")])
    assert content(tmp_path) == {"a.py": b"new\r\n", "sub/b.txt": b"b"}
    assert (tmp_path / "a.py").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (Patch("a.py", b"other", b"x"), "is not the file that was scanned"),
        (Patch("a.py", None, b"x"), "already exists"),
        (Patch("../out.py", None, b"x"), "leads out of"),
        (Patch("gone.py", b"was", b"x"), "is not the file that was scanned"),
    ],
)
def test_one_bad_patch_stops_all(tmp_path: Path, patch: Patch, message: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py").write_bytes(b"old")
    (root / "z.py").write_bytes(b"old")
    with pytest.raises(UsageError, match=message):
        apply_patches(root, [Patch("z.py", b"old", b"new"), patch])
    assert content(root) == {"a.py": b"old", "z.py": b"old"}


def test_a_full_disk_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_bytes(b"old")
    (tmp_path / "b.py").write_bytes(b"old")
    stage = apply._stage
    calls = []

    def second_fails(path: Path, patch: Patch) -> Path:
        calls.append(path)
        if len(calls) == 2:
            raise OSError(28, "No space left on device", str(path))
        return stage(path, patch)

    monkeypatch.setattr(apply, "_stage", second_fails)
    with pytest.raises(UsageError, match=r"No space left on device.*nothing was changed"):
        apply_patches(tmp_path, [Patch("a.py", b"old", b"new"), Patch("b.py", b"old", b"new")])
    assert content(tmp_path) == {"a.py": b"old", "b.py": b"old"}


@pytest.mark.parametrize("killed_at", ["journal", "first rename", "second rename"])
def test_a_killed_run_is_finished_by_the_next(tmp_path: Path, killed_at: str) -> None:
    """A child process dies for real at each point; what it leaves is either untouched or completed."""
    (tmp_path / "a.py").write_bytes(b"old")
    (tmp_path / "b.py").write_bytes(b"old")
    child = os.fork()
    if child == 0:
        replace = Path.replace
        done: list[Path] = []

        def dying(self: Path, target: Path) -> Path:
            step = {"journal": 0, "first rename": 1, "second rename": 2}[killed_at]
            if len(done) == step:
                os._exit(9)
            done.append(self)
            return replace(self, target)

        Path.replace = dying  # type: ignore[method-assign,assignment]
        apply_patches(tmp_path, [Patch("a.py", b"old", b"new"), Patch("b.py", b"old", b"new")])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    had_journal = (tmp_path / JOURNAL).exists()
    assert had_journal == (killed_at != "journal")
    assert finish_interrupted(tmp_path) == had_journal
    expected = b"new" if had_journal else b"old"
    assert (tmp_path / "a.py").read_bytes() == (tmp_path / "b.py").read_bytes() == expected
    assert not (tmp_path / JOURNAL).exists()


def test_a_broken_journal_is_named(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_text("{")
    with pytest.raises(UsageError, match="journal cannot be read"):
        apply_patches(tmp_path, [])
