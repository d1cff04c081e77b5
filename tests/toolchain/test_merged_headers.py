"""One include folder out of several."""

from __future__ import annotations

from pathlib import Path

from kernel_pytorch.toolchain.merged_headers import merge_headers


def test_the_first_root_wins_and_folders_are_merged(tmp_path: Path) -> None:
    for root, files in {
        "a": ("hip/runtime.h", "only_a.h"),
        "b": ("hip/runtime.h", "hip/half.h", "blas/blas.h"),
    }.items():
        for name in files:
            (tmp_path / root / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / root / name).write_text(root)
    merged = tmp_path / "include"
    for _ in range(2):  # a second time changes nothing
        merge_headers(merged, [tmp_path / "a", tmp_path / "b", tmp_path / "missing"])
    found = {name: (merged / name).read_text() for name in ("hip/runtime.h", "hip/half.h", "only_a.h", "blas/blas.h")}
    assert found == {"hip/runtime.h": "a", "hip/half.h": "b", "only_a.h": "a", "blas/blas.h": "b"}
    assert (merged / "blas").is_symlink()
