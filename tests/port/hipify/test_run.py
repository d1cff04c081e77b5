"""One process, a pool, and a unit shared by several processes give the same files and findings."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from kernel_pytorch.port.hipify import run
from kernel_pytorch.port.hipify.file import HipifyOptions
from kernel_pytorch.port.hipify.tree import find_sources, tasks_of

HEADER = b"#pragma once\n#define WARP 32\n__device__ float total(float v);\n"
SOURCE = b"""#include "common.cuh"
__global__ void k%d(float* x) {
  float v = x[threadIdx.x];
  for (int i = 16; i > 0; i /= 2) v += __shfl_down_sync(0xffffffff, v, i);
  if (threadIdx.x %% WARP == 0) x[0] = v;
}
void launch%d(float* x) { k%d<<<1, 32>>>(x); cudaDeviceSynchronize(); cudaDevAttrAtomicReductionSupported(0); }
"""


def ported(root: Path, target: Path, workers: int) -> tuple[dict[str, bytes], list[run.Done]]:
    tasks = tasks_of(root, find_sources(root)[0])
    done = sorted(run.run_tasks(tasks, HipifyOptions(), target, workers), key=lambda one: one.stats.path)
    written = {path.relative_to(target).as_posix(): path.read_bytes() for path in target.rglob("*") if path.is_file()}
    return written, done


@pytest.mark.parametrize("is_one_unit", [True, False])
def test_several_processes_give_what_one_gives(
    is_one_unit: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_WORTH_A_POOL", 0)
    root = tmp_path / "in"
    for number in range(5):
        folder = root if is_one_unit else root / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "common.cuh").write_bytes(HEADER)
        (folder / f"{number}.cu").write_bytes(SOURCE % (number, number, number))
    assert len(tasks_of(root, find_sources(root)[0])) == (1 if is_one_unit else 5)
    alone, findings = ported(root, tmp_path / "one", 1)
    assert b"__shfl_down(v, i, 32)" in alone["0.hip" if is_one_unit else "0/0.hip"]
    assert any(one.stats.left for one in findings)
    assert ported(root, tmp_path / "two", 2) == (alone, findings)
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_a_unit_is_divided_into_parts_with_the_largest_files_first(tmp_path: Path) -> None:
    for number, size in enumerate((10, 500, 20, 300, 30)):
        (tmp_path / f"{number}.cu").write_bytes(b" " * size)
    task = run.Task(tmp_path, (), tuple(f"{number}.cu" for number in range(5)))
    assert run._parts(task, 4) == [("1.cu",), ("3.cu",), ("4.cu", "2.cu", "0.cu")]


def test_small_tasks_go_to_a_worker_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_BATCH_BYTES", 100)
    tasks = [run.Task(Path("/"), (name,), (name,)) for name in "abcdef"]
    batches = run._batches(tasks, [500, 60, 60, 30, 30, 30])
    assert [[task.members[0] for task in batch] for batch in batches] == [["a"], ["b", "c"], ["d", "e", "f"]]
