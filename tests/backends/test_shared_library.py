"""Where vendor libraries are looked for, and which copy wins."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_pytorch.backends.shared_library import library_candidates


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    return path


def test_installations_in_order_and_versions_newest_first(tmp_path: Path) -> None:
    first = touch(tmp_path / "one/lib64/libvendorx.so")
    wheel_like = [touch(tmp_path / f"two/lib/libvendorx.so.{version}") for version in ("13", "12", "12.10", "12.9")]
    nested = touch(tmp_path / "three/targets/x86_64-linux/lib/libvendorx.so")
    touch(tmp_path / "two/lib/libvendorx.so.12.debug")
    touch(tmp_path / "two/lib/libvendorx-builtins.so")
    roots = [str(tmp_path / name) for name in ("one", "missing", "two", "three")]
    found = [Path(path) for path in library_candidates("vendorx", roots=roots)]
    thirteen, twelve, twelve_ten, twelve_nine = wheel_like
    assert found == [first, thirteen, twelve_ten, twelve_nine, twelve, nested]


def test_a_package_beside_torch_comes_before_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = touch(tmp_path / "site/nvidia/vendorx/lib/libvendorx.so.12")
    system = touch(tmp_path / "system/lib/libvendorx.so")
    # With an __init__.py it wins over any other folder of that name on the path, such as one of these tests.
    touch(tmp_path / "site/nvidia/__init__.py")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    found = list(library_candidates("vendorx", roots=[str(tmp_path / "system")], package_folders=("nvidia/*/lib",)))
    assert found == [str(packaged), str(system)]


def test_the_copy_in_the_process_wins(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) to build a library")
    source = tmp_path / "empty.c"
    source.write_text("int present(void) { return 1; }\n")
    loaded = tmp_path / "torch" / "libvendorloaded-1a2b3c4d.so.6"
    loaded.parent.mkdir()
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(loaded), str(source)], check=True)
    system = touch(tmp_path / "system/lib/libvendorloaded.so")
    before = list(library_candidates("vendorloaded", roots=[str(tmp_path / "system")]))
    assert before == [str(system)]
    ctypes.CDLL(str(loaded))
    after = list(library_candidates("vendorloaded", roots=[str(tmp_path / "system")]))
    assert after == [str(loaded), str(system)]


def test_a_library_that_is_nowhere_has_no_candidates() -> None:
    assert list(library_candidates("no-such-vendor", roots=["/nonexistent"])) == []
