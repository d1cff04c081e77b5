"""Whole files, plain files, private folders: the plumbing by itself. What a hostile tree tries is in tests/hostile."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from kernel_pytorch.core.cache_folder import default_cache, make_shared, own_folder_in, state_folder
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.read_file import FileRefused, open_plain, read_bytes, read_if_there, read_text, why_refused
from kernel_pytorch.core.whole_file import whole_file, write_for_user, write_whole


def test_a_new_file_has_the_usual_mode_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640
    (tmp_path / "new").chmod(0o751)
    write_whole(tmp_path / "new", b"\xff", durable=True)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o751 and (tmp_path / "new").read_bytes() == b"\xff"


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(RuntimeError), whole_file(tmp_path / "file") as part:
        part.write_text("half")
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["file"] and (tmp_path / "file").read_text() == "old"


def test_what_has_no_place_in_utf_8(tmp_path: Path) -> None:
    write_whole(tmp_path / "file", "a\udc80b")
    assert (tmp_path / "file").read_bytes() == b"a?b"


def test_names_as_long_as_they_may_be(tmp_path: Path) -> None:
    write_whole(tmp_path / ("\N{SNOWMAN}" * 85), "text")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["text"]


def test_the_user_is_told_which_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"file/inner: cannot be written \(Not a directory|File exists\)"):
        write_for_user(tmp_path / "file/inner", "text")


def test_reading_a_plain_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbfa\xff")
    assert read_bytes(path) == b"\xef\xbb\xbfa\xff" and read_bytes(path, tmp_path) == read_if_there(path)
    assert read_text(path, errors="replace") == "a\ufffd"
    with pytest.raises(UnicodeDecodeError):
        read_text(path)
    with open_plain(path) as file:
        assert file.read(1) == b"\xef"
    assert read_if_there(tmp_path / "none") is None
    with pytest.raises(FileNotFoundError):
        read_bytes(tmp_path / "none")


def test_the_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(10))
    assert read_bytes(tmp_path / "file", limit=10) == bytes(10)
    with pytest.raises(FileRefused, match="larger than"):
        read_bytes(tmp_path / "file", limit=9)
    with pytest.raises(FileRefused, match="larger than"):
        read_bytes(Path("/proc/self/status"), limit=9)  # says that it has no size


def test_links_inside_and_out(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "outside").write_text("secret")
    (root / "sub/file").write_text("text")
    links = {"in": root / "sub/file", "out": tmp_path / "outside", "up": tmp_path, "there": root / "sub"}
    for name, target in links.items():
        (root / name).symlink_to(target)
    assert read_bytes(root / "in", root) == read_bytes(root / "there/file", root) == b"text"
    for path in (root / "out", root / "up/outside", root / "../outside"):
        with pytest.raises(FileRefused, match="leads out of"):
            read_bytes(path, root)
        assert read_if_there(path, root) is None
    assert why_refused(root / "in", root) == "" and "leads out" in why_refused(root / "out", root)
    # A root that is reached by a link itself is still the root, and a neighbour of a similar name is not in it.
    (tmp_path / "alias").symlink_to(root)
    assert read_bytes(tmp_path / "alias/sub/file", tmp_path / "alias") == b"text"
    (tmp_path / "root2").mkdir()
    (tmp_path / "root2/file").write_text("other")
    (root / "beside").symlink_to(tmp_path / "root2/file")
    with pytest.raises(FileRefused, match="leads out of"):
        read_bytes(root / "beside", root)


def test_a_relative_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("text")
    monkeypatch.chdir(tmp_path)
    assert read_bytes(Path("file"), Path()) == b"text" == read_bytes(Path("./file"), Path())


def test_special_files_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        monkey = tmp_path / "socket"
        server.bind(os.path.relpath(monkey))
        for name, kind in (("pipe", "a named pipe"), ("zero", "a device"), ("socket", "a socket"), (".", "a folder")):
            with pytest.raises(FileRefused, match=kind):
                read_bytes(tmp_path / name)


def test_where_folders_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KPT_CACHE_DIR", "KPT_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    own = f"u{os.geteuid()}"
    assert default_cache() == tmp_path / "cache/kernel_pytorch" / own
    assert state_folder() == tmp_path / "state/kernel_pytorch" / own


def test_a_folder_that_users_share(tmp_path: Path) -> None:
    (tmp_path / "sticky").mkdir()
    (tmp_path / "sticky").chmod(0o1777)
    own = own_folder_in(tmp_path / "sticky/hip_cache", "kind")
    assert (tmp_path / "sticky/hip_cache").stat().st_mode & 0o7777 == 0o1777 and own.stat().st_mode & 0o777 == 0o700
    make_shared(tmp_path / "plain")
    assert (tmp_path / "plain").stat().st_mode & 0o7777 == 0o700
