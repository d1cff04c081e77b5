"""Folders that includes are looked up in are found where the project keeps the headers."""

from __future__ import annotations

from pathlib import Path

from kernel_pytorch.port.cxx.include_folders import inferred_folders
from kernel_pytorch.port.hipify.tree import tasks_of


def written(root: Path, *files: tuple[str, str]) -> list[Path]:
    for name, text in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return [root / name for name, _ in files]


def test_an_include_tells_the_folder_of_a_header_of_the_project(tmp_path: Path) -> None:
    source, *_ = written(
        tmp_path,
        ("pkg/cuda/csrc/a.cu", '#include "Common.h"\n#include <glm/glm.hpp>\n#include <vector>\n#include "../b.h"\n'),
        ("pkg/cuda/include/Common.h", ""),
        ("pkg/cuda/csrc/third_party/glm/glm/glm.hpp", ""),
        ("pkg/other/vector", ""),
    )
    expected = (tmp_path / "pkg/cuda/include", tmp_path / "pkg/cuda/csrc/third_party/glm")
    assert inferred_folders(tmp_path, [source]) == tuple(one.resolve() for one in expected)
    assert inferred_folders(tmp_path, [source], [expected[0], expected[1]]) == ()


def test_of_several_the_nearest(tmp_path: Path) -> None:
    files = written(
        tmp_path,
        ("one/csrc/a.cu", '#include "ops.h"\n'),
        ("two/csrc/a.cu", '#include "ops.h"\n'),
        ("one/include/ops.h", ""),
        ("two/include/ops.h", ""),
    )
    assert inferred_folders(tmp_path, files[1:2]) == ((tmp_path / "two/include").resolve(),)


def test_what_rocm_torch_and_the_c_library_bring_is_left_to_them(tmp_path: Path) -> None:
    source, *_ = written(
        tmp_path,
        ("a.cu", '#include <thrust/tuple.h>\n#include <math.h>\n#include "math.h"\n#include <torch/extension.h>\n'),
        ("deps/thrust/tuple.h", ""),
        ("own/math.h", ""),
        ("deps/torch/extension.h", ""),
    )
    assert inferred_folders(tmp_path, [source]) == ()


def test_files_are_seen_together_through_such_a_folder(tmp_path: Path) -> None:
    files = written(
        tmp_path, ("p/csrc/a.cu", '#include "Common.h"\n'), ("p/include/Common.h", ""), ("p/csrc/b.cu", "int x;\n")
    )
    members = [sorted(task.members) for task in tasks_of(tmp_path, files)]
    assert ["p/csrc/a.cu", "p/include/Common.h"] in members and ["p/csrc/b.cu"] in members


def test_a_name_in_angles_that_is_no_name_of_c_is_the_projects(tmp_path: Path) -> None:
    """`#include <test_utils.hpp>` in tests/map/a.cu means tests/test_utils.hpp; <getopt.h> is the system's."""
    for name in ("tests/test_utils.hpp", "compat/getopt.h", "tests/map/a.cu"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("#include <test_utils.hpp>\n#include <getopt.h>\n" if name.endswith(".cu") else "")
    assert inferred_folders(tmp_path, [tmp_path / "tests/map/a.cu"]) == (tmp_path.resolve() / "tests",)
