"""The kernel cache under fault: killed writers, full disks, locked directories, many processes at once.

Everything here happens to real processes and real file systems; the only thing arranged is the moment.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import kernel_pytorch
from kernel_pytorch.toolchain.cache import KernelCache, KernelCacheWarning

SOURCE_ROOT = Path(kernel_pytorch.__file__).parents[1]


def key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    code = f"import sys; sys.path.insert(0, {str(SOURCE_ROOT)!r})\n" + textwrap.dedent(program)
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output


STOPS_BEFORE_RENAME = """
    import sys, time
    from pathlib import Path
    from kernel_pytorch.toolchain.cache import KernelCache

    def stop(self, target):
        print("written", flush=True)
        time.sleep(600)

    if sys.argv[2] == "stop":
        Path.replace = stop
    KernelCache(sys.argv[1]).put(sys.argv[3], b"n" * 100_000)
"""


@pytest.mark.parametrize("stored_before", [False, True])
def test_a_writer_killed_between_write_and_rename_leaves_only_a_temporary(tmp_path: Path, stored_before: bool) -> None:
    cache = KernelCache(tmp_path)
    if stored_before:
        cache.put(key("a"), b"old")
    writer = start(STOPS_BEFORE_RENAME, tmp_path, "stop", key("a"))
    assert writer.stdout is not None
    assert writer.stdout.readline() == "written\n"
    writer.send_signal(signal.SIGKILL)
    writer.communicate()

    temporaries = list(tmp_path.rglob("*.kpt-unfinished"))
    assert len(temporaries) == 1
    assert cache.get(key("a")) == (b"old" if stored_before else None)
    finish(start(STOPS_BEFORE_RENAME, tmp_path, "go", key("a")))
    assert cache.get(key("a")) == b"n" * 100_000

    os.utime(temporaries[0], (1, 1))
    cache.put(key("b"), b"x")
    assert list(tmp_path.rglob("*.kpt-unfinished")) == []


def test_a_writer_killed_at_random_moments_never_leaves_a_wrong_entry(tmp_path: Path) -> None:
    program = """
        import sys
        from kernel_pytorch.toolchain.cache import KernelCache
        cache = KernelCache(sys.argv[1])
        print("ready", flush=True)
        while True:
            for name in sys.argv[2:]:
                cache.put(name, bytes.fromhex(name) * 5000)
    """
    keys = [key(str(number)) for number in range(5)]
    for round_number in range(8):
        writer = start(program, tmp_path, *keys)
        assert writer.stdout is not None
        writer.stdout.readline()
        with contextlib.suppress(subprocess.TimeoutExpired):
            writer.wait(timeout=0.003 * round_number)
        writer.kill()
        writer.communicate()
        found = [KernelCache(tmp_path).get(name) for name in keys]
        assert all(got is None or got == bytes.fromhex(name) * 5000 for name, got in zip(keys, found, strict=True))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    mount_point = tmp_path / "small"
    mount_point.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mount_point)], capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip(f"cannot mount a small tmpfs here: {done.stderr.strip()}")
    try:
        yield mount_point
    finally:
        subprocess.run(["umount", str(mount_point)], check=True)


def test_a_full_disk_warns_once_keeps_old_entries_and_leaves_no_rubbish(small_disk: Path) -> None:
    cache = KernelCache(small_disk)
    cache.put(key("small"), b"s" * 1000)
    with pytest.warns(KernelCacheWarning, match="No space left on device") as caught:
        assert not cache.put(key("big"), os.urandom(2_000_000))
        assert not cache.put(key("big2"), os.urandom(2_000_000))
    assert len(caught) == 1
    assert cache.get(key("small")) == b"s" * 1000
    assert cache.get(key("big")) is None
    assert list(small_disk.rglob("*.kpt-unfinished")) == []
    assert cache.put(key("fits"), b"f" * 1000), "the cache recovers as soon as there is room"


def test_a_file_size_limit_is_met_like_a_full_disk(tmp_path: Path) -> None:
    program = """
        import resource, sys, warnings
        from kernel_pytorch.toolchain.cache import KernelCache
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        warnings.simplefilter("always")
        cache = KernelCache(sys.argv[1])
        print(cache.put(sys.argv[2], b"x" * 100_000), cache.put(sys.argv[3], b"x" * 100))
    """
    process = start(program, tmp_path, key("big"), key("small"))
    output, errors = process.communicate(timeout=120)
    assert output.split() == ["False", "True"]
    assert errors.count("KernelCacheWarning") == 1
    assert "File too large" in errors
    assert KernelCache(tmp_path).get(key("small")) == b"x" * 100
    assert list(tmp_path.rglob("*.kpt-unfinished")) == []


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory every user may reach; pytest's own are closed to others."""
    directory = Path(tempfile.mkdtemp(prefix="kpt-test-"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.mark.parametrize("mode", [0o555, 0o000], ids=["read-only", "locked"])
def test_a_directory_without_write_permission_warns_and_serves_what_it_can(open_directory: Path, mode: int) -> None:
    program = """
        import os, sys, warnings
        from pathlib import Path
        from kernel_pytorch.toolchain.cache import KernelCache
        if os.getuid() == 0:  # root ignores permission bits
            os.setgid(54321)
            os.setuid(54321)
        warnings.simplefilter("always")
        KernelCache(sys.argv[1]).put(sys.argv[2], b"stored before")
        next(Path(sys.argv[1]).iterdir()).chmod(int(sys.argv[4]))
        cache = KernelCache(sys.argv[1])
        print(cache.get(sys.argv[2]), cache.put(sys.argv[3], b"x"), cache.put(sys.argv[3], b"x"))
    """
    open_directory.chmod(0o777)
    process = start(program, open_directory, key("a"), key("b"), mode)
    output, errors = process.communicate(timeout=120)
    next(open_directory.iterdir()).chmod(0o700)
    readable = "b'stored before'" if mode == 0o555 else "None"
    assert output.strip() == f"{readable} False False"
    assert errors.count("KernelCacheWarning") == 1
    assert "Permission denied" in errors


@pytest.mark.skipif(os.getuid() != 0, reason="only root can act as two users")
def test_two_users_share_the_default_place_without_seeing_each_other(open_directory: Path) -> None:
    program = """
        import os, sys, warnings
        from kernel_pytorch.toolchain.cache import KernelCache
        os.setuid(int(sys.argv[2]))
        warnings.simplefilter("error")
        cache = KernelCache(sys.argv[1])
        print(cache.get(sys.argv[3]), cache.put(sys.argv[3], sys.argv[2].encode()), cache.get(sys.argv[3]))
    """
    open_directory.chmod(0o1777)  # as /tmp is
    for user in (54321, 54322):
        output = finish(start(program, open_directory / "hip_cache", user, key("a")))
        assert output.strip() == f"None True b'{user}'"


MANY_WRITERS = """
    import hashlib, sys
    from kernel_pytorch.toolchain.cache import KernelCache
    directory, who, entries = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    cache = KernelCache(directory, max_entries=entries)
    wrong = 0
    for number in range(60):
        for owner in (who, 99):  # its own keys, and keys that all eight write
            name = hashlib.sha256(f"{owner}/{number}".encode()).hexdigest()
            cache.put(name, name.encode() * 200)
            got = cache.get(name)
            wrong += got is not None and got != name.encode() * 200
    print(wrong)
"""


def test_eight_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    writers = [start(MANY_WRITERS, tmp_path, who, 10_000) for who in range(8)]
    assert [finish(writer).strip() for writer in writers] == ["0"] * 8
    cache = KernelCache(tmp_path, max_entries=10_000)
    for owner in [*range(8), 99]:
        for number in range(60):
            name = key(f"{owner}/{number}")
            assert cache.get(name) == name.encode() * 200
    assert cache.stats().entries == 9 * 60
    assert list(tmp_path.rglob("*.kpt-unfinished")) == []


def test_eight_processes_at_once_evict_without_harm(tmp_path: Path) -> None:
    writers = [start(MANY_WRITERS, tmp_path, who, 20) for who in range(8)]
    assert [finish(writer).strip() for writer in writers] == ["0"] * 8
    cache = KernelCache(tmp_path, max_entries=20)
    cache.put(key("last"), b"x")
    assert cache.stats().entries == 20
    assert list(tmp_path.rglob("*.kpt-unfinished")) == []


def test_clearing_while_others_write_loses_no_write_for_good(tmp_path: Path) -> None:
    program = """
        import sys
        from kernel_pytorch.toolchain.cache import KernelCache
        cache = KernelCache(sys.argv[1])
        for _ in range(300):
            cache.clear()
    """
    writers = [start(MANY_WRITERS, tmp_path, who, 10_000) for who in range(3)]
    clearer = start(program, tmp_path)
    assert [finish(process).strip() for process in [*writers, clearer]] == ["0", "0", "0", ""]
    cache = KernelCache(tmp_path)
    assert cache.put(key("after"), b"x")
    assert cache.get(key("after")) == b"x"


MAKES_ONCE = """
    import sys, time
    from pathlib import Path
    from kernel_pytorch.toolchain.cache import KernelCache
    cache = KernelCache(sys.argv[1])
    with cache.making(sys.argv[2]):
        if cache.get(sys.argv[2]) is None:
            print("made", flush=True)
            time.sleep(600 if sys.argv[3] == "forever" else 0.3)
            cache.put(sys.argv[2], b"x")
"""


def test_of_eight_processes_one_makes_the_entry(tmp_path: Path) -> None:
    makers = [start(MAKES_ONCE, tmp_path, key("a"), "quickly") for _ in range(8)]
    assert sorted(finish(maker) for maker in makers) == [""] * 7 + ["made\n"]
    assert list(tmp_path.rglob("*.lock")) == []


def test_a_killed_maker_holds_nobody_up(tmp_path: Path) -> None:
    maker = start(MAKES_ONCE, tmp_path, key("a"), "forever")
    assert maker.stdout is not None
    assert maker.stdout.readline() == "made\n"
    waiting = start(MAKES_ONCE, tmp_path, key("a"), "quickly")
    maker.kill()
    maker.communicate()
    assert finish(waiting) == "made\n"
    assert KernelCache(tmp_path).get(key("a")) == b"x"


def test_making_goes_ahead_where_nothing_can_be_locked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with KernelCache(tmp_path / "file").making(key("a")):
        pass
    assert (tmp_path / "file").read_text() == ""
