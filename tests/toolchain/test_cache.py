"""What the kernel cache stores, bounds, evicts and clears, inside one process."""

from __future__ import annotations

import hashlib
import os
import time
import warnings
from pathlib import Path

import pytest

from kernel_pytorch.toolchain import cache as cache_module
from kernel_pytorch.toolchain.cache import KernelCache, KernelCacheWarning


def key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def entry_files(directory: Path) -> list[Path]:
    return sorted(directory.glob("kpt-kernels-v*/*.kpt"))


def test_a_stored_payload_comes_back_in_another_instance(tmp_path: Path) -> None:
    payload = bytes(range(256)) * 40
    assert KernelCache(tmp_path).put(key("a"), payload)
    assert KernelCache(tmp_path).get(key("a")) == payload
    assert KernelCache(tmp_path).get(key("b")) is None


def test_an_empty_payload_is_a_hit_and_not_a_miss(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    cache.put(key("empty"), b"")
    assert cache.get(key("empty")) == b""


def test_a_second_put_replaces_the_first(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    cache.put(key("a"), b"old")
    cache.put(key("a"), b"new")
    assert cache.get(key("a")) == b"new"
    assert cache.stats().entries == 1


@pytest.mark.parametrize("bad", ["", "abc", "../../etc/passwd", "A" * 64, "g" * 64, "0" * 64 + "\n", "0" * 65])
def test_a_key_that_is_not_a_digest_is_refused(tmp_path: Path, bad: str) -> None:
    cache = KernelCache(tmp_path)
    with pytest.raises(ValueError, match="64 lower-case hex digits"):
        cache.get(bad)
    with pytest.raises(ValueError, match="64 lower-case hex digits"):
        cache.put(bad, b"x")


@pytest.mark.parametrize(("entries", "size"), [(0, 1), (-1, 1), (1, 0)])
def test_bounds_below_one_are_refused(tmp_path: Path, entries: int, size: int) -> None:
    with pytest.raises(ValueError, match="at least one"):
        KernelCache(tmp_path, max_entries=entries, max_bytes=size)


@pytest.mark.parametrize("cut", [0, 3, 8, 40, 79, 80, 1000])
def test_a_truncated_entry_is_a_miss_and_is_rebuilt(tmp_path: Path, cut: int) -> None:
    cache = KernelCache(tmp_path)
    cache.put(key("a"), b"p" * 4000)
    path = entry_files(tmp_path)[0]
    path.write_bytes(path.read_bytes()[:cut])
    assert cache.get(key("a")) is None
    assert cache.put(key("a"), b"again")
    assert cache.get(key("a")) == b"again"


def test_every_single_flipped_byte_is_noticed(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    cache.put(key("a"), b"some payload")
    path = entry_files(tmp_path)[0]
    whole = path.read_bytes()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 0x10
        path.write_bytes(damaged)
        assert cache.get(key("a")) is None, f"byte {position} changed unnoticed"


def test_trailing_rubbish_is_noticed(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    cache.put(key("a"), b"payload")
    path = entry_files(tmp_path)[0]
    path.write_bytes(path.read_bytes() + b"x")
    assert cache.get(key("a")) is None


def test_an_entry_copied_to_another_key_is_not_believed(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    cache.put(key("a"), b"for a")
    path = entry_files(tmp_path)[0]
    path.with_name(f"{key('b')}.kpt").write_bytes(path.read_bytes())
    assert cache.get(key("b")) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to another user")
def test_an_entry_of_another_user_is_not_believed(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    cache.put(key("a"), b"planted")
    path = entry_files(tmp_path)[0]
    os.chown(path, 54321, 54321)
    assert cache.get(key("a")) is None


def test_the_count_bound_drops_the_least_recently_used(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path, max_entries=3)
    for name in "abc":
        cache.put(key(name), name.encode())
    assert cache.get(key("a")) == b"a"  # now the freshest
    cache.put(key("d"), b"d")
    assert cache.get(key("b")) is None
    assert [cache.get(key(name)) for name in "acd"] == [b"a", b"c", b"d"]
    assert cache.stats().entries == 3


def test_the_byte_bound_drops_as_many_as_needed(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path, max_entries=100, max_bytes=4000)
    for name in "abc":
        cache.put(key(name), b"x" * 1000)
    cache.put(key("big"), b"y" * 2500)
    assert cache.get(key("big")) == b"y" * 2500
    assert cache.get(key("a")) is None
    assert cache.get(key("b")) is None
    assert cache.get(key("c")) == b"x" * 1000
    assert cache.stats().bytes <= 4000


def test_a_payload_above_the_byte_bound_is_not_stored_and_evicts_nothing(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path, max_bytes=1000)
    cache.put(key("small"), b"s")
    assert not cache.put(key("huge"), b"h" * 2000)
    assert cache.get(key("small")) == b"s"


def test_a_lower_bound_takes_effect_on_a_directory_that_holds_more(tmp_path: Path) -> None:
    wide = KernelCache(tmp_path, max_entries=50)
    for number in range(20):
        wide.put(key(str(number)), b"x")
    narrow = KernelCache(tmp_path, max_entries=4)
    narrow.put(key("new"), b"x")
    assert narrow.stats().entries == 4
    assert narrow.get(key("new")) == b"x"


def test_a_stale_temporary_file_is_swept_and_a_fresh_one_kept(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    cache.put(key("a"), b"x")
    folder = entry_files(tmp_path)[0].parent
    fresh = folder / ".a.0badcafe0badcafe.kpt-unfinished"
    stale = folder / ".b.0badcafe0badcafe.kpt-unfinished"
    foreign = folder / "notes.tmp"
    for path in (fresh, stale, foreign):
        path.write_bytes(b"half")
    long_ago = time.time() - 2 * cache_module.STALE_TEMPORARY_S
    os.utime(stale, (long_ago, long_ago))
    os.utime(foreign, (long_ago, long_ago))
    cache.put(key("b"), b"x")
    assert fresh.exists()
    assert not stale.exists()
    assert foreign.exists()


def test_clear_removes_our_files_and_nothing_else(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    for name in "abc":
        cache.put(key(name), b"x")
    folder = entry_files(tmp_path)[0].parent
    keep = [
        tmp_path / "thesis.tex",
        folder / "notes.txt",
        folder / f"{key('z')}.kpt",  # our name, but not our content
        folder / "deeper" / f"{key('a')}.kpt",
    ]
    (folder / "deeper").mkdir()
    for path in keep:
        path.write_bytes(b"the user's own")
    torn = folder / f"{key('torn')}.kpt"
    torn.write_bytes(b"")
    temporary = folder / ".a.0badcafe0badcafe.kpt-unfinished"
    temporary.write_bytes(b"half")
    assert cache.clear() == 4
    assert cache.stats().entries == 1
    assert [path.read_bytes() for path in keep] == [b"the user's own"] * 4
    assert not torn.exists()
    assert not temporary.exists()


def test_clear_leaves_the_directory_itself_and_works_twice(tmp_path: Path) -> None:
    directory = tmp_path / "mine"
    cache = KernelCache(directory)
    assert cache.clear() == 0
    cache.put(key("a"), b"x")
    assert cache.clear() == 1
    assert cache.clear() == 0
    assert list(directory.iterdir()) == []
    assert cache.put(key("a"), b"x")


def test_eviction_never_removes_a_foreign_file_with_our_name(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path, max_entries=1)
    cache.put(key("a"), b"x")
    foreign = entry_files(tmp_path)[0].with_name(f"{key('z')}.kpt")
    foreign.write_bytes(b"the user's own")
    os.utime(foreign, (1, 1))
    cache.put(key("b"), b"x")
    assert foreign.read_bytes() == b"the user's own"


def test_two_schema_versions_do_not_see_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = KernelCache(tmp_path, max_entries=2)
    old.put(key("a"), b"old layout")
    monkeypatch.setattr(cache_module, "SCHEMA", cache_module.SCHEMA + 1)
    new = KernelCache(tmp_path, max_entries=2)
    assert new.get(key("a")) is None
    for name in "abcd":
        new.put(key(name), b"new layout")
    assert new.clear() == 2
    assert old.get(key("a")) == b"old layout"


@pytest.mark.parametrize(("parent_mode", "mode"), [(0o755, 0o700), (0o1777, 0o1777)])
def test_entries_are_private_wherever_the_directory_is(tmp_path: Path, parent_mode: int, mode: int) -> None:
    tmp_path.chmod(parent_mode)
    directory = tmp_path / "fresh"
    KernelCache(directory).put(key("a"), b"x")
    assert directory.stat().st_mode & 0o7777 == mode
    assert entry_files(directory)[0].parent.stat().st_mode & 0o7777 == 0o700


def test_an_unusable_directory_warns_once_and_shows_in_stats(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    cache = KernelCache(blocked / "cache")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert cache.get(key("a")) is None
        assert not cache.put(key("a"), b"x")
        assert not cache.put(key("b"), b"x")
        assert cache.get(key("b")) is None
        assert cache.clear() == 0
    assert [warning.category for warning in caught] == [KernelCacheWarning]
    problem = cache.stats().problem
    assert problem is not None
    assert "Not a directory" in problem
    assert blocked.read_text() == "not a directory"


def test_home_is_expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert KernelCache("~/kernels").put(key("a"), b"x")
    assert len(entry_files(tmp_path / "kernels")) == 1
