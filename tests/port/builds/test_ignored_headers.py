"""A header that the project's build has made, and git ignores, belongs to the builds of a port."""

from __future__ import annotations

import subprocess
from pathlib import Path

from kernel_pytorch.port.builds.ignored_headers import ignored_headers
from kernel_pytorch.port.cxx.include_folders import compile_folders
from kernel_pytorch.port.discover import discover

SOURCE = '#include "lib/shape.h"\n#include <vector>\n#include "third_party/other.h"\n__global__ void k() {}\n'


def _project(root: Path) -> Path:
    files = {
        ".gitignore": "*.pb.h\nmade/\nthird_party/\n",
        "src/k.cu": SOURCE,
        "include/lib/shape.h": '#include "lib/proto/shape.pb.h"\n',
        "include/lib/proto/shape.pb.h": '#include "made/config.h"\n',
        "made/config.h": "#define ROWS 4\n",
        "made/unused.h": "#error nobody includes this\n",
        "third_party/other.h": "",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def test_those_that_sources_reach_and_no_others(tmp_path: Path) -> None:
    project = discover(_project(tmp_path))
    assert "made/config.h" not in project.of("cuda", "c++")
    folders = compile_folders(tmp_path, [tmp_path / path for path in project.of("cuda", "c++")])
    found = {path.relative_to(tmp_path.resolve()).as_posix() for path in ignored_headers(project, folders)}
    assert found == {"include/lib/proto/shape.pb.h", "made/config.h"}


def test_nothing_outside_the_project_is_read(tmp_path: Path) -> None:
    root = _project(tmp_path / "project")
    (tmp_path / "secret.h").write_text("")
    (root / "include/lib/proto/shape.pb.h").unlink()
    (root / "include/lib/proto/shape.pb.h").symlink_to(tmp_path / "secret.h")
    folders = compile_folders(root, [root / "src/k.cu"])
    assert list(ignored_headers(discover(root), folders)) == []
