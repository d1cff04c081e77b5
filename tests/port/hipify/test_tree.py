"""Which files of a folder are ported, which are seen together, and how a single file is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.jobs.hipify import hipify_tree
from kernel_pytorch.port.hipify.file import HipifyOptions
from kernel_pytorch.port.hipify.tree import find_sources, hipify_task, task_of, tasks_of


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_a_folder_is_listed_by_gits_rules_and_exclude(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.cu": '#include "old/b.h"\nint x = cudaSuccess;\n',
            "old/b.h": "#pragma once\n#define cudaFree free\n",
            "made/c.cu": "int x;\n",
            "out/d.cu": "int x;\n",
            "third_party/e.cu": "int x;\n",
            ".gitignore": "made/\n",
            "pyproject.toml": '[tool.kernel_pytorch]\nexclude = ["old"]\n',
        },
    )
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    files, chosen, unread = find_sources(tmp_path, [tmp_path / "out"])
    assert [path.relative_to(tmp_path).as_posix() for path in files] == ["a.cu", "old/b.h"]
    assert chosen == ["a.cu"] and unread == []
    (task,) = tasks_of(tmp_path, files, chosen=chosen)
    assert set(task.members) == {"a.cu", "old/b.h"}
    assert task.chosen == ("a.cu",)


def test_a_single_file_is_seen_with_the_headers_it_reaches(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main.cu": '#include "own.h"\nvoid f() { cudaFree(0); cudaMalloc(0, 0); }\n',
            "parts/own.h": "#define cudaFree(p) free(p)\n",
        },
    )
    task = task_of(tmp_path / "main.cu", [tmp_path / "parts"])
    assert task.members == ("main.cu", "parts/own.h")
    (result,) = hipify_task(task, HipifyOptions())
    assert result.path == (tmp_path / "main.cu").as_posix()
    assert b"cudaFree(0); hipMalloc" in result.after
    with pytest.raises(UsageError, match="no such file"):
        task_of(tmp_path / "nowhere.cu")


def test_a_kernel_file_that_is_named_in_a_string_is_found_under_its_new_name(tmp_path: Path) -> None:
    """NVRTC reads it while the program runs."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "add.cu").write_text('extern "C" __global__ void add(float *x) { x[threadIdx.x] += 1; }\n')
    (tmp_path / "in" / "main.cpp").write_text(
        '#include <nvrtc.h>\nauto kernel() { return "add.cu"; }\nauto other() { return "elsewhere.cu"; }\n'
    )
    source, out = tmp_path / "in", tmp_path / "out"
    hipify_tree([source], out)
    text = (out / "main.cpp").read_text()
    assert '"add.hip"' in text and '"elsewhere.cu"' in text
    assert (out / "add.hip").is_file()


def test_the_header_that_a_port_writes_joins_no_units(tmp_path: Path) -> None:
    # A second port must see the groups that the first one saw: what a group relies on would change with its files.
    for name in ("a", "b"):
        (tmp_path / f"{name}.cu").write_text('#include "kpt_hip_compat.h"\n__global__ void k() {}\n')
    (tmp_path / "kpt_hip_compat.h").write_text("#pragma once\n")
    tasks = tasks_of(tmp_path, find_sources(tmp_path)[0], chosen=["a.cu", "b.cu"])
    assert sorted(task.chosen for task in tasks) == [("a.cu",), ("b.cu",)]
    assert all("kpt_hip_compat.h" in task.members for task in tasks)
