from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Patch
from kernel_pytorch.port import apply
from kernel_pytorch.port.apply import apply_patches, copy_with_patches, recover


def content(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for journals, so that a test sees its own only."""
    folder = tmp_path / "state"
    monkeypatch.setenv("KPT_STATE_DIR", str(folder))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    for name in ("a.py", "b.py"):
        (folder / name).write_bytes(b"old")
    return folder


BOTH = [Patch("a.py", b"old", b"new"), Patch("b.py", b"old", b"new")]


def test_changes_and_new_files(root: Path) -> None:
    (root / "a.py").write_bytes(b"old\r\n")
    (root / "a.py").chmod(0o755)
    apply_patches(root, [Patch("a.py", b"old\r\n", b"new\r\n"), Patch("sub/c.txt", None, b"c")])
    assert content(root) == {"a.py": b"new\r\n", "b.py": b"old", "sub/c.txt": b"c"}
    assert (root / "a.py").stat().st_mode & 0o777 == 0o755


def test_a_file_that_may_not_be_written_keeps_its_mode(root: Path) -> None:
    (root / "a.py").chmod(0o444)
    apply_patches(root, BOTH)
    assert (root / "a.py").read_bytes() == b"new" and (root / "a.py").stat().st_mode & 0o777 == 0o444


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (Patch("a.py", b"other", b"x"), "is not the file that was scanned"),
        (Patch("a.py", None, b"x"), "already exists"),
        (Patch("../out.py", None, b"x"), "leads out of"),
        (Patch("gone.py", b"was", b"x"), "is not the file that was scanned"),
    ],
)
def test_one_bad_patch_stops_all(root: Path, patch: Patch, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        apply_patches(root, [Patch("b.py", b"old", b"new"), patch])
    assert content(root) == {"a.py": b"old", "b.py": b"old"}


def test_a_full_disk_changes_nothing(root: Path, journals: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = apply._stage
    calls = []

    def third_fails(path: Path, name: str, patch: Patch) -> None:
        calls.append(path)
        if len(calls) == 3:
            raise OSError(28, "No space left on device", str(path))
        stage(path, name, patch)

    monkeypatch.setattr(apply, "_stage", third_fails)
    new = [Patch("new/deep/c.py", None, b"new"), *BOTH]
    with pytest.raises(UsageError, match=r"No space left on device.*nothing was changed"):
        apply_patches(root, new)
    assert content(root) == {"a.py": b"old", "b.py": b"old"}
    assert sorted(path.name for path in root.iterdir()) == ["a.py", "b.py"]  # nor an empty folder
    assert not list(journals.rglob("*.json"))


def killed(root: Path, renames: int) -> None:
    """A child process dies for real at the rename of that number: 0 and 1 are the journal's, then one for a file."""
    child = os.fork()
    if child == 0:
        replace = Path.replace
        done: list[Path] = []

        def dying(self: Path, target: Path) -> Path:
            if len(done) == renames:
                os._exit(9)
            done.append(self)
            return replace(self, target)

        Path.replace = dying  # type: ignore[method-assign,assignment]
        apply_patches(root, BOTH)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


STEPS = {"before staging": 0, "after staging": 1, "first file": 2, "second file": 3}


@pytest.mark.parametrize("killed_at", STEPS)
def test_a_killed_run_is_finished_by_the_next(root: Path, journals: Path, killed_at: str) -> None:
    killed(root, STEPS[killed_at])
    recovered = recover(root)
    changed = killed_at in ("first file", "second file")
    expected = b"new" if changed else b"old"
    assert content(root) == {"a.py": expected, "b.py": expected}  # no staged file left behind either
    assert (recovered is None) == (killed_at == "before staging")
    assert recovered is None or bool(recovered.finished) == changed
    assert not list(journals.rglob("*.json")) and recover(root) is None


def test_what_was_edited_after_a_kill_is_not_overwritten(root: Path, journals: Path) -> None:
    killed(root, STEPS["first file"])
    (root / "b.py").write_bytes(b"edited by a person")
    recovered = recover(root)
    assert recovered is not None and recovered.finished == ("a.py",) and recovered.edited == ("b.py",)
    assert "edited since then and left as they are: b.py" in str(recovered)
    assert content(root) == {"a.py": b"new", "b.py": b"edited by a person"}


def test_a_staged_file_that_was_changed_is_not_used(root: Path, journals: Path) -> None:
    killed(root, STEPS["first file"])
    (staged,) = root.glob(".b.py.*")
    staged.write_bytes(b"something that nobody proved")
    recover(root)
    assert content(root) == {"a.py": b"new", "b.py": b"old"}


def test_a_broken_journal_is_named(root: Path, journals: Path) -> None:
    killed(root, STEPS["first file"])
    (journal,) = journals.rglob("*.json")
    journal.write_text("{")
    with pytest.raises(UsageError, match=rf"{re.escape(str(journal))}: the journal .* cannot be read"):
        apply_patches(root, [])


def test_two_at_once(root: Path) -> None:
    with apply._journal(root), pytest.raises(UsageError, match="another kpt writes to this folder"):
        apply_patches(root, BOTH)
    apply_patches(root, BOTH)


def test_a_copy_appears_whole(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device", str(path))

    out = tmp_path / "ported"
    with monkeypatch.context() as patched:
        patched.setattr(apply, "write_whole", full)
        with pytest.raises(UsageError, match=r"No space left on device.*was not made"):
            copy_with_patches(root, ["a.py", "b.py"], BOTH, out)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "state") == ["root"]
    copy_with_patches(root, ["a.py", "b.py"], [BOTH[0]], out)
    assert content(out) == {"a.py": b"new", "b.py": b"old"} and content(root)["a.py"] == b"old"
