"""The headers a source begins with: exactly those, in the order a compiler meets them."""

from __future__ import annotations

import os
from pathlib import Path

from kernel_pytorch.toolchain.leading_headers import leading_headers, shared_headers
from kernel_pytorch.toolchain.precompiled import PrecompiledHeaders, without_project


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder / "main.cu"


def test_up_to_the_last_slow_header(tmp_path: Path) -> None:
    main = write(tmp_path, main_cu="// a\n#include <cmath>\n#include <torch/extension.h>\n#include <vector>\nint a;\n")
    assert leading_headers(main, [tmp_path]) == ("cmath", "torch/extension.h")


def test_a_header_of_the_project_is_entered(tmp_path: Path) -> None:
    main = write(
        tmp_path,
        main_cu='#include "own.h"\n#include <ATen/ATen.h>\n',
        own_h="#pragma once\n#include <torch/extension.h>\n",
    )
    assert leading_headers(main, [tmp_path]) == ("torch/extension.h", "ATen/ATen.h")


def test_code_in_a_header_ends_it(tmp_path: Path) -> None:
    text = "#ifndef OWN\n#define OWN\n#include <torch/extension.h>\n#define N 1\n#endif\n"
    main = write(tmp_path, main_cu='#include "own.h"\n#include <ATen/ATen.h>\n', own_h=text)
    assert leading_headers(main, [tmp_path]) == ("torch/extension.h",)


def test_a_macro_before_the_headers_ends_it(tmp_path: Path) -> None:
    main = write(tmp_path, main_cu="#define N 1\n#include <torch/extension.h>\n")
    assert leading_headers(main, [tmp_path]) == ()


def test_a_condition_ends_it(tmp_path: Path) -> None:
    main = write(tmp_path, main_cu="#ifdef X\n#include <torch/extension.h>\n#endif\n")
    assert leading_headers(main, [tmp_path]) == ()


def test_headers_that_include_each_other(tmp_path: Path) -> None:
    main = write(tmp_path, main_cu='#include "a.h"\n', a_h='#include "b.h"\n', b_h='#include "a.h"\n')
    assert leading_headers(main, [tmp_path]) == ()


def test_sources_share_what_they_have_in_common() -> None:
    one, other = ("c10/util/Half.h", "ATen/Dispatch.h", "c10/a.h"), ("c10/util/Half.h", "ATen/Dispatch.h")
    assert shared_headers({"a": one, "b": other, "c": ("vector",)}) == {"a": other, "b": other}


def test_a_header_with_nearly_all_of_torch_is_kept_alone() -> None:
    one = ("hip/hip_runtime.h", "cmath", "c10/util/Half.h", "torch/extension.h", "ATen/ATen.h")
    assert shared_headers({"a": one, "b": ("vector", "torch/extension.h")}) == {
        "a": ("hip/hip_runtime.h", "torch/extension.h"),
        "b": ("torch/extension.h",),
    }


def test_the_project_has_no_part_in_what_is_kept(tmp_path: Path) -> None:
    command = ["clang", "-I", str(tmp_path / "src"), "-I", "/torch", "-DTORCH_EXTENSION_NAME=a", "-DB=1"]
    assert without_project(command, (tmp_path,)) == ["clang", "-I", "/torch", "-DB=1"]


def test_each_is_made_once_and_a_failure_is_kept(tmp_path: Path) -> None:
    commands: list[list[str]] = []

    def make(command: list[str]) -> bool:
        commands.append(command)
        if "-bad" in command:
            return False
        Path(command[command.index("-o") + 1]).write_bytes(b"made")
        return True

    store = PrecompiledHeaders(tmp_path)
    first = store.file(["clang"], ("a.h",), make)
    assert first is not None and first.read_bytes() == b"made"
    assert store.file(["clang"], ("a.h",), make) == first
    assert store.file(["clang", "-bad"], ("a.h",), make) is None
    assert store.file(["clang", "-bad"], ("a.h",), make) is None
    assert len(commands) == 2


def test_a_file_of_an_earlier_run_is_tried_before_it_is_used(tmp_path: Path) -> None:
    made: list[str] = []

    def make(command: list[str], still_good: bool) -> bool:
        if "-fsyntax-only" in command:
            return still_good
        made.append(command[0])
        Path(command[command.index("-o") + 1]).write_bytes(b"made")
        return True

    folder = tmp_path / "kept"
    first = PrecompiledHeaders(folder).file(["clang"], ("a.h",), lambda command: make(command, True))
    assert first == PrecompiledHeaders(folder).file(["clang"], ("a.h",), lambda command: make(command, True))
    assert len(made) == 1
    assert first == PrecompiledHeaders(folder).file(["clang"], ("a.h",), lambda command: make(command, False))
    assert len(made) == 2


def test_the_oldest_files_go_when_the_folder_is_full(tmp_path: Path) -> None:
    def make(command: list[str]) -> bool:
        Path(command[command.index("-o") + 1]).write_bytes(b"0123456789")
        return True

    folder = tmp_path / "kept"
    old = PrecompiledHeaders(folder, 25).file(["clang"], ("old.h",), make)
    recent = PrecompiledHeaders(folder, 25).file(["clang"], ("recent.h",), make)
    assert old is not None and recent is not None
    os.utime(old, (1, 1))
    new = PrecompiledHeaders(folder, 25).file(["clang"], ("new.h",), make)
    assert new is not None
    assert (old.exists(), recent.exists(), new.exists()) == (False, True, True)
