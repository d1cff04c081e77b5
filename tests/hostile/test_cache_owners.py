"""What is kept between runs is run, or decides what is written: it must be this user's and nobody else's."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.cache_folder import default_cache, private_folder, state_folder
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Patch
from kernel_pytorch.port.apply import apply_patches
from kernel_pytorch.toolchain.cache import KernelCache, KernelCacheWarning

KEY = "a" * 64
SOMEBODY = 54321
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")


def of_another_user(path: Path) -> None:
    os.chown(path, SOMEBODY, SOMEBODY)


def open_to_all(path: Path) -> None:
    path.chmod(0o777)


def open_to_the_group(path: Path) -> None:
    path.chmod(0o770)


def a_link(path: Path) -> None:
    elsewhere = path.with_name("elsewhere")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


SPOILED = [
    pytest.param(of_another_user, "belongs to another user", marks=needs_root),
    pytest.param(open_to_all, "others may write to it", id="open_to_all"),
    pytest.param(open_to_the_group, "others may write to it", id="open_to_the_group"),
    pytest.param(a_link, "not a folder but a link", id="a_link"),
]


@pytest.mark.parametrize(("spoil", "message"), SPOILED)
@pytest.mark.parametrize(
    ("folder", "variable"), [(default_cache, "KPT_CACHE_DIR"), (state_folder, "KPT_STATE_DIR")], ids=["cache", "state"]
)
def test_a_folder_that_is_not_the_users_own(
    folder: Callable[[], Path],
    variable: str,
    spoil: Callable[[Path], None],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(variable, str(tmp_path))
    made = folder()
    assert made.stat().st_mode & 0o777 == 0o700 and made == folder()
    spoil(made)
    with pytest.raises(UsageError, match=rf"{message}.*cannot be trusted; {variable} names another folder"):
        folder()


@pytest.mark.parametrize(("spoil", "message"), SPOILED)
def test_the_verbs_that_use_it_say_so(
    spoil: Callable[[Path], None],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KPT_CACHE_DIR", str(tmp_path / "cache"))
    spoil(default_cache())
    program = shutil.which("true")
    assert program is not None
    assert main(["emulate", program]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("spoil", "message"), SPOILED)
def test_a_journal_in_a_spoiled_folder_is_not_used(
    spoil: Callable[[Path], None], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KPT_STATE_DIR", str(tmp_path / "state"))
    spoil(state_folder())
    (tmp_path / "a.py").write_bytes(b"old")
    with pytest.raises(UsageError, match=message):
        apply_patches(tmp_path, [Patch("a.py", b"old", b"new")])
    assert (tmp_path / "a.py").read_bytes() == b"old"


@pytest.mark.parametrize(("spoil", "message"), SPOILED)
def test_the_kernel_cache_goes_on_without(spoil: Callable[[Path], None], message: str, tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    assert cache.put(KEY, b"payload") and cache.get(KEY) == b"payload"
    (folder,) = tmp_path.iterdir()
    spoil(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KernelCacheWarning)
        assert cache.get(KEY) is None and not cache.put(KEY, b"other")
    assert message in (cache.stats().problem or "")


def test_two_users_share_a_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name for each: what one user made first does not lock the other out."""
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o777)
    monkeypatch.setenv("KPT_CACHE_DIR", str(shared))
    own = default_cache()
    monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)
    with pytest.raises(UsageError, match="belongs to another user"):
        private_folder(own)
    assert own.name != f"u{SOMEBODY}"


def test_a_home_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A port is not refused for it: the journal goes to a folder of the user's own among the temporary files."""
    (tmp_path / "home").write_text("not a folder")
    (tmp_path / "temporary").mkdir()
    monkeypatch.delenv("KPT_STATE_DIR")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "a.py").write_bytes(b"old")
    apply_patches(tmp_path, [Patch("a.py", b"old", b"new")])
    assert (tmp_path / "a.py").read_bytes() == b"new"
    (made,) = (tmp_path / "temporary").iterdir()
    assert made.stat().st_mode & 0o777 == 0o700


def test_tuned_gemms_are_of_one_user_and_one_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from kernel_pytorch.backends.amd.libraries import LibrarySetting, apply_settings, library_settings
    from kernel_pytorch.core.config import AMDConfig
    from kernel_pytorch.core.hardware import target

    named: list[str] = []
    monkeypatch.setattr(torch.cuda.tunable, "set_filename", named.append)
    monkeypatch.setattr(torch.cuda.tunable, "get_filename", lambda: "before.csv")
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    monkeypatch.setattr(torch.version, "hip", "7.1.52802")
    monkeypatch.setenv("KPT_CACHE_DIR", str(tmp_path / "private"))
    shared = tmp_path / "hip_cache"
    every = library_settings(AMDConfig(hip_compiler_cache_dir=str(shared)), target("gfx942"))
    (setting,) = [one for one in every if one.key == "tunable.filename"]
    assert isinstance(setting, LibrarySetting)
    apply_settings((setting,))
    name = f"gfx942_{torch.__version__}_hip7.1.52802_3.csv"
    folder = shared / f"kpt-tunableop-v1-u{os.geteuid()}"
    assert named == [str(folder / name)] and folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    apply_settings((setting,))
    assert named[-1] == str(tmp_path / "private" / f"u{os.geteuid()}" / "tunableop" / name)
