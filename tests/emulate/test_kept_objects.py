"""An object is kept for as long as nothing that it was made of changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kernel_pytorch.emulate import hipcc
from kernel_pytorch.emulate.extension_headers import own_folders, torch_headers_of
from kernel_pytorch.emulate.kept_cxx import run
from kernel_pytorch.emulate.kept_objects import Compilation, KeptObjects, files_read
from kernel_pytorch.toolchain.cache import KernelCache
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.toolchain.precompiled import without_project

CHANGES = {
    "source": lambda folder: (folder / "a.cpp").write_text('#include "a.h"\nint other;\n'),
    "header": lambda folder: (folder / "include/a.h").write_text("#define N 5\n"),
    "header that is gone": lambda folder: (folder / "include/a.h").unlink(),
    "header that hides another": lambda folder: (folder / "a.h").write_text("#define N 6\n"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "include").mkdir()
    (tmp_path / "include/a.h").write_text("#define N 4\n")
    (tmp_path / "a.cpp").write_text('#include "a.h"\nint f() { return N; }\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _kept(folder: Path) -> KeptObjects:
    return KeptObjects(KernelCache(folder / "kept", kind="objects"))


def _compilation(folder: Path, *words: str, identity: str = "c++ 1") -> Compilation:
    return Compilation(identity, ("-c", f"-I{folder}/include", *words), folder / "a.cpp")


def test_the_same_files_give_what_was_made(folder: Path) -> None:
    kept = _kept(folder)
    assert kept.get(_compilation(folder)) is None
    kept.put(_compilation(folder), [folder / "a.cpp", folder / "include/a.h"], [b"object", b"", b"more"])
    assert kept.get(_compilation(folder)) == [b"object", b"", b"more"]
    assert kept.get(_compilation(folder, "-O3")) is None
    assert kept.get(_compilation(folder, identity="c++ 2")) is None


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_is_compiled_again(change: str, folder: Path) -> None:
    kept = _kept(folder)
    kept.put(_compilation(folder), [folder / "a.cpp", folder / "include/a.h"], [b"object"])
    CHANGES[change](folder)
    assert kept.get(_compilation(folder)) is None


def test_one_source_with_two_states_of_a_header_is_kept_twice(folder: Path) -> None:
    kept, header = _kept(folder), folder / "include/a.h"
    states = {"#define N 4\n": b"four", "#define N 5\n": b"five"}
    for text, made in states.items():
        header.write_text(text)
        kept.put(_compilation(folder), [header], [made])
    for text, made in states.items():
        header.write_text(text)
        assert kept.get(_compilation(folder)) == [made]


def test_a_dependency_file_is_read(folder: Path) -> None:
    named = files_read("a.o: a.cpp \\\n include/a.h /x/with\\ space.h \\\n /kept/torch.pch\n")
    assert named == [folder / "a.cpp", folder / "include/a.h", Path("/x/with space.h")]


def test_the_folders_of_torch_are_none_of_the_project(folder: Path) -> None:
    """torch/extension.h of a ROCm torch stands in one folder, and includes torch/all.h of another."""
    for place in ("a/torch/extension.h", "a/api/torch/all.h", "b/Python.h"):
        (folder / place).parent.mkdir(parents=True)
        (folder / place).touch()
    words = [f"-I{folder / name}" for name in ("a", "a/api", "b", "include", "not-there")]
    assert own_folders(words) == (folder / "include", folder / "not-there")


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
@pytest.mark.parametrize("listed", [("-MMD", "-MF", "a.o.d"), ()])
def test_a_cxx_compiler_is_asked_once(listed: tuple[str, ...], folder: Path) -> None:
    asked = folder / "asked"
    compiler = folder / "compiler"
    compiler.write_text(f'#!/bin/sh\necho >>{asked}\nexec c++ "$@"\n')
    compiler.chmod(0o755)
    words = [*listed, "-Iinclude", "-c", "a.cpp", "-o", "a.o"]
    objects = []
    for _ in range(2):
        assert run(str(compiler), words, _kept(folder)) == 0
        made = sorted(folder.glob("a.o*"))
        objects.append({file: file.read_bytes() for file in made})
        for file in made:
            file.unlink()
    assert objects[0] == objects[1]
    assert len(objects[0]) == (2 if listed else 1)
    assert len(asked.read_text().splitlines()) == 1
    (folder / "include/a.h").write_text("#define N none\n")
    assert run(str(compiler), words, _kept(folder)) == 1
    assert len(asked.read_text().splitlines()) == 2


def test_hipcc_compiles_the_same_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KPT_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setenv("KPT_EMULATE_CACHE", str(folder / "modules"))
    (folder / "a.hip").write_text(
        '#include <hip/hip_runtime.h>\n#include "a.h"\n__global__ void f(int* x) { *x = N; }\n'
    )
    words = hipcc.read_words(["-c", f"-I{folder}/include", "-O1", "a.hip", "-o", "a.o"])
    hipcc.run(words, "gfx1100", find_toolchain())
    first = (folder / "a.o").read_bytes()
    assert b"hip_fatbin" in first
    (text,) = (folder / "modules").glob("*.s")
    assembly = text.read_text()
    text.unlink()
    with monkeypatch.context() as patched:
        patched.setattr(hipcc, "build_device_code", None)  # it would fail
        hipcc.run(words, "gfx1100", find_toolchain())
    assert (folder / "a.o").read_bytes() == first
    assert text.read_text() == assembly  # the translator finds the text again
    (folder / "include/a.h").write_text("#define N 5\n")
    hipcc.run(words, "gfx1100", find_toolchain())
    assert (folder / "a.o").read_bytes() != first


def test_which_headers_are_parsed_once(folder: Path) -> None:
    torch, own = folder / "torch", folder / "include"
    (torch / "torch").mkdir(parents=True)
    (torch / "torch/extension.h").touch()
    (folder / "a.hip").write_text('#include "a.h"\n#include <torch/extension.h>\n#include <vector>\n')
    words = (f"-I{own}", "-I", str(torch))
    assert own_folders(words) == (own,)
    found = torch_headers_of(folder / "a.hip", words)
    assert found is None  # a.h defines something: its own text comes before torch's headers
    (own / "a.h").write_text("#pragma once\n")
    found = torch_headers_of(folder / "a.hip", words)
    assert found is not None
    assert found.names == ("torch/extension.h",)
    assert found.own == (own,)
    assert torch_headers_of(folder / "a.hip", (*words, "-Itorch")) is None
    relative = torch_headers_of(folder / "a.hip", ("-Iinclude", *words[1:]))
    assert relative is not None
    assert without_project(["-Iinclude", *words[1:]], relative.own) == ["-I", str(torch)]
    assert torch_headers_of(folder / "a.hip", (*words, "-include", "b.h")) is None
