"""What belongs to a project: code it has checked in, whatever the folder is called, but not what others publish."""

from __future__ import annotations

from pathlib import Path

from kernel_pytorch.port.discover import discover


def test_a_folder_called_submodules_is_the_projects_own(tmp_path: Path) -> None:
    for name in ("submodules/rasterizer/forward.cu", "third_party/glm/detail.cu", "own.cu"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("__global__ void k(int *p) { *p = 1; }\n")
    project = discover(tmp_path)
    assert sorted(project.of("cuda")) == ["own.cu", "submodules/rasterizer/forward.cu"]
    assert any(one.path.startswith("third_party") for one in project.skipped)
