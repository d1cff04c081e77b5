"""What belongs to a project: code it has checked in, whatever the folder is called, but not what others publish."""

from __future__ import annotations

import subprocess
from pathlib import Path

from kernel_pytorch import port
from kernel_pytorch.jobs.port_notes import port_notes
from kernel_pytorch.port.discover import SUBMODULE, discover, list_files


def test_a_folder_called_submodules_is_the_projects_own(tmp_path: Path) -> None:
    for name in ("submodules/rasterizer/forward.cu", "third_party/glm/detail.cu", "own.cu"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("__global__ void k(int *p) { *p = 1; }\n")
    project = discover(tmp_path)
    assert sorted(project.of("cuda")) == ["own.cu", "submodules/rasterizer/forward.cu"]
    assert any(one.path.startswith("third_party") for one in project.skipped)


def test_a_build_folder_of_the_project_is_read_in_a_copy_without_git(tmp_path: Path) -> None:
    for name in ("build/setup.pytorch.py", "made/build/run.py", "made/build/temp.linux-x86_64/k.o", "other/build/k.cu"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    listing = list_files(tmp_path)
    assert listing.names == ("build/setup.pytorch.py",)
    assert sorted(listing.not_entered) == ["made/build", "other/build"]


def test_a_submodule_with_kernels_is_named_as_not_ported(tmp_path: Path) -> None:
    root = tmp_path / "p"
    for folder in (root, root / "submodules/rows", root / "submodules/text"):
        folder.mkdir(parents=True)
        kind = "cu" if folder.name == "rows" else "py"
        (folder / f"k.{kind}").write_text("")
        git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run([*git, "init", "-q"], check=True)
        if folder != root:
            subprocess.run([*git, "add", "-A"], check=True)
            subprocess.run([*git, "commit", "-qm", "first"], check=True)
    subprocess.run(["git", "-C", str(root), "add", "-A"], check=True, capture_output=True)
    assert {one.path: one.reason for one in discover(root).skipped} == {
        "submodules/rows": SUBMODULE,
        "submodules/text": SUBMODULE,
    }
    (note,) = port_notes(port(root, build=False, workers=1))
    assert note.startswith("not ported: submodules/rows: ")
