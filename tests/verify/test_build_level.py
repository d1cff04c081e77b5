"""Where the build level looks for headers: the translated ones before the CUDA originals, and what a project brings."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Status
from kernel_pytorch.port.builds.hipified_tree import hipified_folders, hipified_tree
from kernel_pytorch.port.cxx.include_folders import compile_folders
from kernel_pytorch.toolchain.compile import CompilerStopped
from kernel_pytorch.verify.build_level import build_level
from kernel_pytorch.verify.settings import read_verify_settings

HEADER = "#pragma once\n__device__ int both(int x) { return __shfl_xor_sync(0xffffffff, x, 1); }\n"


def project(root: Path) -> Path:
    for name, text in {
        "include/lanes.cuh": HEADER,
        "csrc/main.cu": '#include "lanes.cuh"\n__global__ void k(int *p) { *p = both(*p); }\n',
        "third_party/glm/glm/glm.hpp": "",
        "third_party/json/include/json.hpp": "",
        "other/own.h": "",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_translated_headers_come_before_the_originals(tmp_path: Path) -> None:
    root = project(tmp_path)
    with hipified_tree(root / "csrc/main.cu", (root / "include",)) as tree:
        own, original = hipified_folders(tree, (root / "include",))
        assert original == root / "include" and own != original
        assert "__shfl_xor_sync(0xffffffff" not in (own / "lanes.cuh").read_text()


def test_what_a_project_brings_along_is_looked_in(tmp_path: Path) -> None:
    root = project(tmp_path)
    folders = [folder.relative_to(root).as_posix() for folder in compile_folders(root, [], ["other"])]
    assert folders[0] == "other"
    assert {"include", "csrc", "third_party/glm", "third_party/json/include"} <= set(folders)


def test_the_project_names_folders_that_are_there(tmp_path: Path) -> None:
    root = project(tmp_path)
    (root / "pyproject.toml").write_text('[tool.kernel_pytorch.verify]\ninclude_dirs = ["other"]\n')
    assert read_verify_settings(root).include_dirs == ("other",)
    (root / "pyproject.toml").write_text('[tool.kernel_pytorch.verify]\ninclude_dirs = ["nowhere"]\n')
    with pytest.raises(UsageError, match="nowhere is not a folder"):
        read_verify_settings(root)


def test_only_the_named_sources_are_built(tmp_path: Path) -> None:
    pytest.importorskip("ziglang")
    (tmp_path / "good.cu").write_text("__global__ void k(int *p) { *p = 1; }\n")
    (tmp_path / "bad.cu").write_text("__global__ void k(int *p) { *p = nothing_of_that_name; }\n")
    level, kernels = build_level(tmp_path, ["gfx942"], only=["good*"])
    assert level.status is Status.PASS and [kernel.source for kernel in kernels] == ["good.cu"]
    with pytest.raises(UsageError, match=r"--only better\*: matches no source"):
        build_level(tmp_path, ["gfx942"], only=["better*"])


def test_a_compiler_that_was_stopped_says_nothing_about_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> bytes:
        raise CompilerStopped((), "the compiler did not finish within 600 s and was stopped", ())

    monkeypatch.setattr("kernel_pytorch.verify.build_level.check_unit", stopped)
    (tmp_path / "a.hip").write_text("__global__ void k() {}\n")
    level, _ = build_level(tmp_path, ("gfx942",))
    (check,) = level.checks
    assert check.status is Status.NOT_RUN and "did not finish within 600 s" in check.detail
