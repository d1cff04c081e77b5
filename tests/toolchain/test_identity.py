"""The remembered toolchain: believed while nothing it depends on has changed, forgotten otherwise."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from kernel_pytorch.toolchain.cache import KernelCache
from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.toolchain.identity import identity_of, remember_identity, remembered_identity, stamp, unchanged


@pytest.fixture
def toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toolchain:
    """A toolchain of empty files: only their stamps matter here."""
    for name in ("bin/clang", "bin/ld.lld", "lib/ocml.bc", "include/hip/hip_version.h"):
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    monkeypatch.setenv("PATH", str(tmp_path / "tree/bin"))
    monkeypatch.chdir(tmp_path)
    tree = tmp_path / "tree"
    return Toolchain(
        kind="clang",
        compiler=(str(tree / "bin/clang"),),
        linker=(str(tree / "bin/ld.lld"),),
        version="clang 22.1",
        headers="rocm",
        include_dirs=(tree / "include",),
        device_libs=(tree / "lib/ocml.bc",),
        device_lib_dir=None,
        host_flags=(),
        wrapper=None,
        rocm_path=None,
        notes=(),
        reason="made for a test",
    )


@pytest.fixture
def memory(tmp_path: Path) -> KernelCache:
    return KernelCache(tmp_path / "cache", kind="toolchains")


def test_what_was_found_is_remembered(toolchain: Toolchain, memory: KernelCache) -> None:
    assert remembered_identity(memory) is None
    remember_identity(memory, toolchain)
    assert remembered_identity(memory) == identity_of(toolchain)
    assert identity_of(toolchain).description == "clang 22.1: made for a test"


@pytest.mark.parametrize("name", ["bin/clang", "bin/ld.lld", "lib/ocml.bc", "include/hip/hip_version.h"])
def test_a_changed_part_is_noticed(toolchain: Toolchain, memory: KernelCache, tmp_path: Path, name: str) -> None:
    remember_identity(memory, toolchain)
    (tmp_path / "tree" / name).write_text("upgraded")
    assert remembered_identity(memory) is None


def test_a_new_program_on_the_path_is_noticed(toolchain: Toolchain, memory: KernelCache, tmp_path: Path) -> None:
    remember_identity(memory, toolchain)
    os.utime(tmp_path / "tree/bin", (1, 1))
    remember_identity(memory, toolchain)
    (tmp_path / "tree/bin/hipcc").write_text("")
    assert remembered_identity(memory) is None


@pytest.mark.parametrize("variable", ["PATH", "KPT_TOOLCHAIN", "KPT_ROCM_ROOT", "ROCM_PATH", "KPT_HEADERS"])
def test_other_circumstances_are_another_record(
    toolchain: Toolchain, memory: KernelCache, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    remember_identity(memory, toolchain)
    monkeypatch.setenv(variable, "/elsewhere")
    assert remembered_identity(memory) is None


def test_a_tree_unpacked_in_the_current_directory_is_noticed(
    toolchain: Toolchain, memory: KernelCache, tmp_path: Path
) -> None:
    remember_identity(memory, toolchain)
    (tmp_path / ".rocm").mkdir()
    assert remembered_identity(memory) is None


def test_the_fingerprint_tells_toolchains_apart(toolchain: Toolchain) -> None:
    newer = dataclasses.replace(toolchain, version="clang 23.0")
    assert identity_of(newer).fingerprint != identity_of(toolchain).fingerprint


def test_stamps_of_what_is_there_and_what_is_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    missing = stamp(str(path))
    assert missing == (str(path), -1, -1)
    assert unchanged([missing])
    path.write_text("now here")
    assert not unchanged([missing])
    assert unchanged([stamp(str(path))])
